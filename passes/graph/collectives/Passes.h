//===- Passes.h - Passes for several ranks ----------------------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_COLLECTIVES_PASSES_H
#define ARK_PASSES_GRAPH_COLLECTIVES_PASSES_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/graph/collectives/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/collectives/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_COLLECTIVES_PASSES_H
