//===- Passes.td - Passes of the memory stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_MEMORY_PASSES_TD
#define ARK_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_MEMORY_PASSES_TD
