//===- SharedAttention.h - Tasks with an equal attention --------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_SHAREDATTENTION_H
#define ARK_PASSES_TILING_FUSION_SHAREDATTENTION_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the first attention in the body of a task, or null.
OnlineAttentionOp getAttention(TaskOp task);

/// Returns true if the only attention of `second` equals the first one of
/// `first`, and `second` reads nothing that `first` does not read. One loop
/// over the keys then computes the results of both, such as the result of an
/// attention and the log-sum-exp for its gradients.
bool attendToSame(TaskOp first, TaskOp second);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_SHAREDATTENTION_H
