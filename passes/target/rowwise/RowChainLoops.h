//===- RowChainLoops.h - A warp for each row of a chain ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H
#define ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H

#include "passes/target/rowwise/RowChain.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Builds a chain as the work of warp `firstWarp` and the warps after it, of
/// `threads` threads, with one warp for each row.
void createRowChainLoop(ImplicitLocOpBuilder &builder, const RowChain &chain,
                        int64_t threads, int64_t firstWarp);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWWISE_ROWCHAINLOOPS_H
