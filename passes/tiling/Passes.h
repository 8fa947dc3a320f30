//===- Passes.h - Passes of the tiling stage --------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_PASSES_H
#define ARK_PASSES_TILING_PASSES_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/tiling/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/tiling/Passes.h.inc"

/// Adds the passes that turn groups into tasks on tiles to a pass manager on
/// modules.
void buildTilingPipeline(OpPassManager &pm);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_PASSES_H
