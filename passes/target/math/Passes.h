//===- Passes.h - Passes for maths functions and floats ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATH_PASSES_H
#define ARK_PASSES_TARGET_MATH_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/math/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/math/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATH_PASSES_H
