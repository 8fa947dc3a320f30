//===- TileSelector.h - Select the tile of one group ------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_TILESELECTOR_H
#define ARK_PASSES_TILING_SELECTION_TILESELECTOR_H

#include "dialects/ark/ArkConvolutionOps.h"
#include "lib/analysis/ProductTiles.h"
#include "passes/tiling/selection/TileShape.h"

namespace mlir::ark {

/// Minimum number of rows for which matrix units multiply narrow floats; matrix
/// units need large tiles of the other operand.
constexpr int64_t kMinMatrixRows = 2;

/// Selects tiles of groups for one target; the other fields are the options of
/// the pass. The op that determines the work of a group's tiles decides which
/// rules apply: those of products, of attention, or of rows.
struct TileSelector {
  TargetAttr target;
  int64_t rowBytes, tilesPerSM, matmulM, matmulN, attentionRows;

  /// Returns the tile for a group. The group may not permit all its extents:
  /// see `legalize`.
  Tile select(GroupOp group) const;

  /// Returns the sizes of the product of a group that may have a listed tile,
  /// or nothing if the group has none or its tiles have a size of the pass's
  /// options.
  std::optional<ProductSizes> getListedSizes(GroupOp group) const;

  /// Returns true if a group has a listed tile and would run without matrix
  /// units in tiles of any other size.
  bool needsListedTile(GroupOp group) const;

  /// Returns the dimension of the queries if `tile` divides it, and attention
  /// in tiles that divide it stores no scores. Otherwise returns nothing.
  std::optional<int64_t> getDividedDim(GroupOp group,
                                       ArrayRef<int64_t> tile) const;

private:
  bool isCPU() const { return !target.isGpu(); }
  bool hasMatrixUnits(Type element, int64_t rows) const;
  int64_t getWantedTiles() const { return tilesPerSM * target.getSms(); }
  Tile selectMatmul(MatmulOp op, ArrayRef<int64_t> domain) const;
  std::optional<Tile> findConvolution(ConvolutionOp op,
                                      ArrayRef<int64_t> domain) const;
  Tile selectQuantizedMatmul(ArrayRef<int64_t> domain) const;
  int64_t selectStreamingColumns(int64_t batches, int64_t columns,
                                 double imbalance) const;
  int64_t selectMatrixColumns(int64_t batches, int64_t columns) const;
  int64_t selectDotColumns(int64_t batches, int64_t columns) const;
  bool hasWholeOperands(MatmulOp op, MatrixTilesAttr tiles) const;
  bool hasRoomForTile(GroupOp group) const;
  bool mayHaveListedTile(MatmulOp op) const;
  std::optional<Tile> findMatrixTile(MatmulOp op,
                                     ArrayRef<int64_t> domain) const;
  bool needsScores(AttentionOpInterface op) const;
  bool storesScores(AttentionOpInterface op, int64_t queries,
                    int64_t rows) const;
  bool fitScores(int64_t scores, int64_t bytes) const;
  int64_t divideQueries(AttentionOpInterface op, int64_t queries,
                        int64_t wanted) const;
  std::pair<int64_t, int64_t> getWarpgroupRows(AttentionOpInterface op) const;
  Tile selectAttention(AttentionOpInterface op, ArrayRef<int64_t> domain) const;
  Tile selectPartitions(AttentionOpInterface op,
                        ArrayRef<int64_t> domain) const;
  Tile selectAttentionGradient(AttentionGradientOpInterface op,
                               ArrayRef<int64_t> domain) const;
  int64_t getWantedBytes(GroupOp group, ArrayRef<int64_t> domain) const;
  Tile selectRows(GroupOp group, ArrayRef<int64_t> domain) const;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_SELECTION_TILESELECTOR_H
