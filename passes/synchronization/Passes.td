//===- Passes.td - Passes of the synchronization stage -----*- tablegen -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_PASSES_TD
#define ARK_PASSES_SYNCHRONIZATION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_SYNCHRONIZATION_PASSES_TD
