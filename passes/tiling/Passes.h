//===- Passes.h - Passes of the tiling stage --------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_PASSES_H
#define ARK_PASSES_TILING_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/tiling/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/tiling/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_PASSES_H
