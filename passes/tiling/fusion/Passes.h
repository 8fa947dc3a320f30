//===- Passes.h - Passes that fuse tasks ------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_PASSES_H
#define ARK_PASSES_TILING_FUSION_PASSES_H

#include "dialects/ark/ArkOps.h"
#include "passes/tiling/fusion/JoinElementwise.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/tiling/fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/tiling/fusion/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_PASSES_H
