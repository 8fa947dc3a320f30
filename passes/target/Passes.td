//===- Passes.td - Passes of the target stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_PASSES_TD
#define ARK_PASSES_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_TARGET_PASSES_TD
