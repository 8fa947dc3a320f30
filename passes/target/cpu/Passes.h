//===- Passes.h - Passes of the lowering for cpu ----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CPU_PASSES_H
#define ARK_PASSES_TARGET_CPU_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/cpu/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CPU_PASSES_H
