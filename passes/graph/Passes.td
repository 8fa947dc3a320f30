//===- Passes.td - Passes of the graph stage ---------------*- tablegen -*-===//

#ifndef ARK_PASSES_GRAPH_PASSES_TD
#define ARK_PASSES_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_GRAPH_PASSES_TD
