//===- Passes.h - Passes of the graph stage ---------------------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_PASSES_H
#define ARK_PASSES_GRAPH_PASSES_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/graph/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"

/// Adds the passes that turn ark ops on tensors into groups. `collectives`
/// names the algorithm of all collectives; if it is empty, sizes decide.
void buildGraphPipeline(OpPassManager &pm, StringRef collectives = "");

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_PASSES_H
