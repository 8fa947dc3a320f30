//===- Passes.td - Passes of the kernel stage --------------*- tablegen -*-===//

#ifndef ARK_PASSES_KERNEL_PASSES_TD
#define ARK_PASSES_KERNEL_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // ARK_PASSES_KERNEL_PASSES_TD
