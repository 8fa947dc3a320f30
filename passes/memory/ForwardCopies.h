//===- ForwardCopies.h - Compute copies of results again --------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_FORWARDCOPIES_H
#define ARK_PASSES_MEMORY_FORWARDCOPIES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Replaces copies from one result of a task to another result by clones of the
/// elementwise op that computes the values. No op then reads the first result,
/// so that both may become packets. Considers results with up to `maxElements`
/// elements whose type packets have.
void forwardCopies(TaskOp task, int64_t maxElements);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_FORWARDCOPIES_H
