//===- InPlaceReads.h - Tasks that read elements they update ----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_INPLACEREADS_H
#define ARK_PASSES_MEMORY_BUFFERIZE_INPLACEREADS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns true if a task on tensors may read `input` from the tensor that it
/// updates at `out`: every vCTA reads only elements that it updates itself.
/// Both tiles are then the same.
bool readsOwnElements(TaskOp task, unsigned input, unsigned out);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_INPLACEREADS_H
