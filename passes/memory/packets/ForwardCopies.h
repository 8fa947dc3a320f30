//===- ForwardCopies.h - Compute copies of results again --------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PACKETS_FORWARDCOPIES_H
#define ARK_PASSES_MEMORY_PACKETS_FORWARDCOPIES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Replaces copies from one result of a task to another result by clones of the
/// elementwise op that computes the values. No op reads the first result
/// afterwards, so that both results may become packets. Considers results with
/// at most `maxElements` elements and an element type that fits into a packet.
void forwardCopies(TaskOp task, int64_t maxElements);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PACKETS_FORWARDCOPIES_H
