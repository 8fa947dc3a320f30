//===- JoinElementwise.h - Elementwise ops with several results -*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_JOINELEMENTWISE_H
#define ARK_PASSES_TILING_FUSION_JOINELEMENTWISE_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Maximum number of tiles that a joined op reads and writes: a thread keeps an
/// element or a vector of each in registers.
constexpr int64_t kMaxJoinedTiles = 8;

/// Returns true if all structured ops of a task are elementwise, on tiles of
/// static shape. `ark-join-elementwise` joins such ops if the task updates a
/// state.
bool isElementwise(TaskOp task);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_JOINELEMENTWISE_H
