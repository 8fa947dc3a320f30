//===- Bodies.h - The functions of a kernel's tasks -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_BODIES_H
#define ARK_PASSES_TARGET_BODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// The functions that `ark.kernel` names as bodies, in its order, as far as the
/// module has their code.
SmallVector<func::FuncOp> getBodies(ModuleOp module);

/// The loop over the vCTAs that a body is called for; null where it has none.
scf::ForOp getVctaLoop(func::FuncOp body);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_BODIES_H
