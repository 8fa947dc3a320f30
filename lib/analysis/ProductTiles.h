//===- ProductTiles.h - Tiles of matmuls for matrix units -------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PRODUCTTILES_H
#define ARK_LIB_ANALYSIS_PRODUCTTILES_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace mlir::ark {

/// Bounds of the sides of a matmul's tile on GPUs whose target lists no tiles.
inline constexpr int64_t kMostTileSide = 128;
inline constexpr int64_t kLeastTileRows = 16, kLeastTileColumns = 64;

/// The extents of `batches` products, each of `rows` x `depth` elements by
/// `depth` x `columns` elements.
struct ProductSizes {
  int64_t batches, rows, columns, depth;
};

/// A tile of the result of a matmul, and the predicted time of all tiles.
struct ProductTile {
  int64_t rows, columns;
  double ns;
};

/// Returns the minimum number of tiles of a matmul. A larger tile is preferred
/// if it gives at least this number of tiles, even if some SMs have no work.
int64_t getLeastTiles(TargetAttr target);

/// Returns the elements of one stage of the depth if the target lists tiles for
/// its matrix units, otherwise 0.
int64_t getStageDepth(TargetAttr target);

/// Predicts the time of all tiles of `rows` x `columns` for matrix units that
/// read operands from shared memory. The target lists such tiles.
double predictTilesNs(TargetAttr target, const ProductSizes &sizes,
                      int64_t rows, int64_t columns);

/// Returns the minimum number of listed tiles of a matmul that is not split
/// along the depth. If the rows of both operands lie along the depth, warps can
/// compute smaller tiles, which are faster than listed tiles with idle SMs. For
/// other operands, the result is 1, because only listed tiles support them.
int64_t getLeastWholeTiles(TargetAttr target, bool isAlongDepth);

/// Returns the listed tile with the shortest predicted time. Returns nothing if
/// no listed tile divides the result into at least `leastTiles` tiles. The
/// columns of the tile are a multiple of `columnUnit`.
std::optional<ProductTile> findListedTile(TargetAttr target,
                                          const ProductSizes &sizes,
                                          int64_t columnUnit,
                                          int64_t leastTiles);

/// Halves the longer side of a tile until `isEnough()`, or until the sides have
/// their minimum.
void halveTile(int64_t &rows, int64_t &columns, int64_t leastRows,
               int64_t leastColumns, llvm::function_ref<bool()> isEnough);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PRODUCTTILES_H
