//===- Passes.td - Passes of the scheduling stage ----------*- tablegen -*-===//

#ifndef ARK_PASSES_SCHEDULING_PASSES_TD
#define ARK_PASSES_SCHEDULING_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_SCHEDULING_PASSES_TD
