//===- RowChainLoops.h - A warp for each row of a chain ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H
#define ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H

#include "passes/target/rowwise/RowChain.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Builds a chain with one warp per row. Row 0 belongs to warp `firstWarp` of
/// the `threads` threads, which form warps of `warpSize` threads.
void createRowChainLoop(ImplicitLocOpBuilder &builder, const RowChain &chain,
                        int64_t threads, int64_t warpSize, int64_t firstWarp);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H
