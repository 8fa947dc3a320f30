//===- Passes.td - Passes of the tiling stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TILING_PASSES_TD
#define ARK_PASSES_TILING_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_TILING_PASSES_TD
