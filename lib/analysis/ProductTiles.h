//===- ProductTiles.h - Tiles of matmuls for matrix units -------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PRODUCTTILES_H
#define ARK_LIB_ANALYSIS_PRODUCTTILES_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace mlir::ark {

/// Bounds of the sides of a matmul's tile on GPUs whose target lists no tiles.
inline constexpr int64_t kMaxTileSide = 128;
inline constexpr int64_t kMinTileRows = 16, kMinTileColumns = 64;

/// Number of bf16 terms into which threads split an f32 element for matrix
/// units. The element is the sum of its terms.
inline constexpr int64_t kF32Terms = 3;
/// Stages of split operands in shared memory, and the unit of the rows and
/// columns of their tiles, which the threads of a CTA load at once.
inline constexpr int64_t kSplitStages = 2, kSplitUnit = 64;

/// Columns that one warpgroup computes: their accumulators take half of the
/// registers of its threads, or a quarter if it computes several products,
/// whose operands have addresses of their own.
inline constexpr int64_t kMaxGroupColumns = 128, kMaxSharedGroupColumns = 64;
/// Smallest depth of a tile whose columns half of the warpgroups compute. The
/// time to store its accumulators grows.
inline constexpr int64_t kMinHalfDepth = 1024;

/// Returns the number of warpgroups that divide the columns of a tile, of
/// `most` warpgroups that may. The CTA computes tiles of `products` products at
/// once. Half of the warpgroups suffice if their registers hold the
/// accumulators: warpgroups with more columns read fewer bytes of shared
/// memory.
constexpr int64_t countWarpgroupsAcross(int64_t columns, int64_t depth,
                                        int64_t products, int64_t most) {
  int64_t half = most / 2;
  int64_t limit = products == 1 ? kMaxGroupColumns : kMaxSharedGroupColumns;
  bool fits = half > 0 && products * columns <= half * limit;
  return fits && depth >= kMinHalfDepth ? half : most;
}

/// Returns the number of products of terms of two elements that have an effect
/// on a result of f32, if each element has `terms` terms.
constexpr int64_t countTermProducts(int64_t terms) {
  return terms * (terms + 1) / 2;
}

/// Rows whose pitch is a multiple of this number of 16-bit elements have
/// addresses that are multiples of the 16 bytes of a copy.
inline constexpr int64_t kAlignedElements = 8;

/// The extents of `batches` products, each of `rows` x `depth` elements by
/// `depth` x `columns` elements. Two elements of 8 bits along the depth count
/// as one.
struct ProductSizes {
  int64_t batches, rows, columns, depth;
  /// kF32Terms for elements of f32, and 1 for other elements.
  int64_t terms = 1;
  /// True if warps can multiply tiles of other sizes as well: the rows of both
  /// operands lie along the depth, and elements are not split.
  bool canWarpsRead = true;
  /// True if the rows of the right operand lie along the depth.
  bool isRightAlongDepth = true;
  /// True if the rows of the left operand lie along the depth.
  bool isLeftAlongDepth = true;
  /// The elements from a row of each operand to the next one. A slice of longer
  /// rows has those of its source.
  int64_t leftPitch = 0, rightPitch = 0;
};

/// Returns the depth (K) of a product.
int64_t getDepth(MatmulOp op);

/// Returns true for operands of 8 bits that matrix units read in stages:
/// threads store the stages, and the target has an instruction that takes
/// `element`.
bool hasNarrowStages(TargetAttr target, Type element);

/// Returns true for f32 operands, which threads split into bf16 terms for
/// matrix units.
bool hasSplitElements(MatmulOp op);

/// Returns the sizes of a product whose result has the shape `shape`.
ProductSizes getProductSizes(MatmulOp op, ArrayRef<int64_t> shape);

/// Returns the bytes of shared memory for the stages of a tile of a product
/// whose elements are split.
int64_t getSplitStageBytes(TargetAttr target, int64_t rows, int64_t columns);

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

/// Returns true if the target lists a tile of a product of this depth, or if
/// the tile consists of one or two panels.
bool isListedTile(TargetAttr target, int64_t rows, int64_t columns,
                  int64_t depth);

/// Predicts the time of one tile of `rows` x `columns` on one SM. The target
/// lists tiles. The time of a stage was measured with operands in the L2.
double predictTileNs(TargetAttr target, const ProductSizes &sizes, int64_t rows,
                     int64_t columns);

/// Predicts the time of all tiles of `rows` x `columns` for matrix units that
/// read operands from shared memory. The target lists such tiles.
double predictTilesNs(TargetAttr target, const ProductSizes &sizes,
                      int64_t rows, int64_t columns);

/// Returns the listed tile with the shortest predicted time. Returns nothing if
/// no listed tile divides the result, perhaps with a clipped last tile. Tiles
/// of shallow products whose operands warps can read must be at least
/// `getLeastTiles`: warps then compute smaller tiles, which are not listed.
std::optional<ProductTile> findListedTile(TargetAttr target,
                                          const ProductSizes &sizes);

/// Returns the listed tile with the shortest predicted time for products of
/// equal depth whose vCTAs run at once. Returns nothing if no listed tile
/// divides all results evenly.
std::optional<ProductTile> findCommonTile(TargetAttr target,
                                          ArrayRef<ProductSizes> products);

/// Halves the longer side of a tile until `isEnough()`, or until the sides have
/// their minimum.
void halveTile(int64_t &rows, int64_t &columns, int64_t leastRows,
               int64_t leastColumns, llvm::function_ref<bool()> isEnough);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PRODUCTTILES_H
