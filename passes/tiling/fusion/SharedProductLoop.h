//===- SharedProductLoop.h - Tasks with an equal loop ---------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_SHAREDPRODUCTLOOP_H
#define ARK_PASSES_TILING_FUSION_SHAREDPRODUCTLOOP_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the first op in the body of a task that multiplies matrices in a
/// loop of its own, such as an attention, or null.
BodyOpInterface getProductLoop(TaskOp task);

/// Returns true if the only such op of `second` equals the first one of
/// `first`, and `second` reads nothing that `first` does not read. One loop
/// then computes the results of both, such as the result of an attention and
/// the log-sum-exp for its gradients.
bool shareProductLoop(TaskOp first, TaskOp second);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_SHAREDPRODUCTLOOP_H
