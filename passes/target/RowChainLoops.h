//===- RowChainLoops.h - A warp for each row of a chain ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ROWCHAINLOOPS_H
#define ARK_PASSES_TARGET_ROWCHAINLOOPS_H

#include "passes/target/RowChain.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Writes a chain as what warps `firstWarp` and following of `threads` threads
/// do, one for each row.
void createRowChainLoop(ImplicitLocOpBuilder &builder, const RowChain &chain,
                        int64_t threads, int64_t firstWarp);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ROWCHAINLOOPS_H
