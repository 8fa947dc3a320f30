//===- ConcurrentProducts.h - Tiles of products that run at once *- C++ -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H
#define ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H

#include "passes/tiling/selection/TileSelector.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Returns common tiles for products of a program that have the same left
/// operand and do not depend on each other, such as those of queries, keys and
/// values. A common tile lets all of them run at once. Tiles selected per
/// product each fill all SMs, so that the products would run one after the
/// other. The map omits products for which no common tile is predicted to be
/// faster.
llvm::DenseMap<Operation *, Tile>
selectConcurrentProducts(ProgramOp program, const TileSelector &selector);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H
