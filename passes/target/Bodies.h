//===- Bodies.h - The functions of a kernel's tasks -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_BODIES_H
#define ARK_PASSES_TARGET_BODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// The functions that `ark.kernel` names as bodies, in its order, as far as the
/// module has their code.
SmallVector<func::FuncOp> getBodies(ModuleOp module);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_BODIES_H
