//===- ConcurrentProducts.h - Tiles of products that run at once *- C++ -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H
#define ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H

#include "passes/tiling/selection/TileSelector.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// Returns common tiles for products of a program that have the same left
/// operand and do not depend on each other, such as those of queries, keys and
/// values. Such products share the SMs: small tiles that occupy all SMs for
/// each product alone take a time of their own for each product. A product is
/// absent unless a common tile is predicted to end earlier.
llvm::DenseMap<Operation *, Tile>
selectConcurrentProducts(ProgramOp program, const TileSelector &selector);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_SELECTION_CONCURRENTPRODUCTS_H
