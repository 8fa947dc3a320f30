//===- Passes.h - Passes that prefetch to the L2 ----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_PASSES_H
#define ARK_PASSES_TARGET_PREFETCH_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/prefetch/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/prefetch/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PREFETCH_PASSES_H
