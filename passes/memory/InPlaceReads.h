//===- InPlaceReads.h - Tasks that read what they update --------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_INPLACEREADS_H
#define ARK_PASSES_MEMORY_INPLACEREADS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Whether a task on tensors may read `input` of the very tensor that it
/// updates at `out`: every vCTA reads just the elements that it updates itself.
/// Both tiles are then one.
bool readsOwnElements(TaskOp task, unsigned input, unsigned out);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_INPLACEREADS_H
