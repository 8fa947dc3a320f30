//===- SelectMatmulTile.cpp - Tiles of matrix products --------------------===//

#include "passes/tiling/selection/TileSelector.h"

#include "dialects/ark/ArkInference.h"
#include "lib/analysis/ConvolutionTiles.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/GatheredMatrices.h"
#include "lib/support/Streaming.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// With up to this many rows, a core computes a matmul as dot products.
static constexpr int64_t kDotRows = 4;
/// Minimum number of columns of a vCTA that computes dot products.
static constexpr int64_t kMinDotColumns = 16;
/// The largest share of an SM in a task that streams weights may exceed the
/// mean by this fraction.
static constexpr double kImbalance = 0.02;
/// The limit on imbalance with matrix units: kWideImbalance if it permits at
/// least kMinWideColumns columns, otherwise kMatrixImbalance.
static constexpr double kMatrixImbalance = 0.06, kWideImbalance = 0.04;
static constexpr int64_t kMinWideColumns = 16;
/// Matrix units are no faster with fewer than kMinMatrixColumns columns. The
/// start of a vCTA costs as much as kTileColumns columns.
static constexpr int64_t kMinMatrixColumns = 8, kTileColumns = 4;
/// Candidates for the columns of a vCTA that streams weights.
static constexpr int64_t kStreamingColumns[] = {64, 48, 32, 24, 16, 12,
                                                8,  6,  4,  3,  2,  1};

/// Returns a number of columns per tile for which all SMs get nearly equal
/// numbers of columns, in whole tiles. Smaller tiles divide more evenly. Larger
/// tiles need fewer vCTAs, each of which takes time to start.
int64_t TileSelector::selectStreamingColumns(int64_t batches, int64_t columns,
                                             double imbalance) const {
  int64_t sms = target.getSms();
  int64_t best = 1;
  double bestShare = std::numeric_limits<double>::infinity();
  for (int64_t size : kStreamingColumns) {
    int64_t tiles = batches * divideCeil(columns, size);
    // The largest share relative to the mean.
    double share = static_cast<double>(divideCeil(tiles, sms)) * size * sms /
                   (static_cast<double>(batches) * columns);
    if (share <= 1 + imbalance)
      return size;
    if (share < bestShare) {
      best = size;
      bestShare = share;
    }
  }
  return best;
}

/// Returns the number of columns per tile for which the last SM ends earliest.
/// Serves products for which no number of columns gives all SMs equal shares.
int64_t TileSelector::selectMatrixColumns(int64_t batches,
                                          int64_t columns) const {
  auto getTime = [&](int64_t size) {
    int64_t tiles = batches * divideCeil(columns, size);
    return divideCeil(tiles, target.getSms()) * (size + kTileColumns);
  };
  return *llvm::min_element(kStreamingColumns, [&](int64_t a, int64_t b) {
    return getTime(a) < getTime(b);
  });
}

/// Returns the number of columns for one tile per core. A core computes the dot
/// products of a long tile as fast as those of several short tiles, but starts
/// only one vCTA.
int64_t TileSelector::selectDotColumns(int64_t batches, int64_t columns) const {
  columns = std::max<int64_t>(columns, 1);
  int64_t share = divideCeil(batches * columns, target.getSms());
  return std::clamp(share, std::min(kMinDotColumns, columns), columns);
}

/// Returns true if all rows of the left operand are multiplied by the same
/// right operand, so that leading dimensions act as further rows.
static bool sharesRightSide(MatmulOp op) {
  return llvm::all_of(tensorType(op.getRhs()).getShape().drop_back(2),
                      [](int64_t extent) { return extent == 1; });
}

/// Returns true if the rows of both operands lie along the depth.
static bool isAlongDepth(MatmulOp op) {
  return !op.getTransposeInput() && op.getTransposeOther();
}

/// Returns true if warps can read both operands: their rows lie along the
/// depth, and their elements are not split.
static bool canWarpsRead(MatmulOp op) {
  return isAlongDepth(op) && !hasSplitElements(op);
}

/// Returns true if matrix units can read both operands in stages: K or the
/// other dimension is contiguous, and both operands come directly from memory.
bool TileSelector::hasWholeOperands(MatmulOp op, MatrixTilesAttr tiles) const {
  RankedTensorType lhs = tensorType(op.getLhs());
  // Threads that store the stages store them as they are.
  bool canSplit = static_cast<bool>(target.getGpu().findSharedMemoryMma());
  // Threads transpose elements of 16 bits only.
  bool isNarrow =
      hasNarrowStages(target, lhs.getElementType()) && isAlongDepth(op);
  bool isStaged = (hasSplitElements(op) && canSplit) || isNarrow ||
                  (hasMatrixUnits(lhs.getElementType(), kMinMatrixRows) &&
                   lhs.getElementTypeBitWidth() == 16);
  return isStaged &&
         tensorType(op.getRhs()).getElementType() == lhs.getElementType() &&
         isa<BlockArgument>(op.getLhs()) && isa<BlockArgument>(op.getRhs()) &&
         (isAlongDepth(op) || tiles.getPanel() > 0) &&
         getDepth(op) % (tiles.getDepth() * (isNarrow ? 2 : 1)) == 0;
}

bool TileSelector::mayHaveListedTile(MatmulOp op) const {
  MatrixTilesAttr listed =
      isCPU() ? MatrixTilesAttr() : target.getGpu().getMatrixTiles();
  return listed && hasWholeOperands(op, listed);
}

std::optional<ProductSizes> TileSelector::getListedSizes(GroupOp group) const {
  auto matmul = dyn_cast_if_present<MatmulOp>(
      static_cast<Operation *>(getTileAnchor(group)));
  if (!matmul || matmulM > 0 || matmulN > 0 || !hasRoomForTile(group) ||
      !mayHaveListedTile(matmul))
    return std::nullopt;
  return getProductSizes(matmul, getDomain(group));
}

/// Returns the listed tile with the shortest predicted time. Returns nothing if
/// no listed tile divides the result, or if tiles of another size keep more SMs
/// busy.
std::optional<Tile>
TileSelector::findMatrixTile(MatmulOp op, ArrayRef<int64_t> domain) const {
  if (!mayHaveListedTile(op))
    return std::nullopt;
  std::optional<ProductTile> found =
      findListedTile(target, getProductSizes(op, domain));
  if (!found)
    return std::nullopt;
  Tile tile(domain.size() - 2, 1);
  tile.append({found->rows, found->columns});
  return tile;
}

Tile TileSelector::selectMatmul(MatmulOp op, ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  int64_t rows = domain[rank - 2], columns = domain[rank - 1];
  RankedTensorType lhs = tensorType(op.getLhs());
  int64_t depth = getDepth(op);
  Tile tile(rank, 1);
  int64_t &m = tile[rank - 2], &n = tile[rank - 1];
  // Deep panels of 128 columns would not fit the L2 cache.
  int64_t wantedN = isCPU() && depth > 1024 ? 64 : kMaxTileSide;
  int64_t wantedM = isCPU() || rows <= 64 ? 64 : kMaxTileSide;
  m = divideEvenly(rows, wantedM, 8);
  int64_t rowsOfTile = m;
  for (int64_t dim = rank - 3; dim >= 0 && sharesRightSide(op); --dim) {
    tile[dim] = divideEvenly(domain[dim],
                             std::max<int64_t>(wantedM / rowsOfTile, 1), 1);
    rowsOfTile *= tile[dim];
    if (tile[dim] < domain[dim] || rowsOfTile > wantedM / 2)
      break;
  }
  n = divideEvenly(columns, wantedN, 16);
  int64_t batches = countTiles(domain.drop_back(), ArrayRef(tile).drop_back());
  if (isCPU() && rowsOfTile <= kDotRows) {
    n = selectDotColumns(batches, columns);
  } else if (!isCPU() && rowsOfTile <= kStreamingRows && getGather(op)) {
    // Gathered matrices of a parameter are not streamed. Each vCTA
    // waits for its index and its rows, so few large tiles are faster than
    // equal shares.
    n = selectMatrixColumns(batches, columns);
  } else if (!isCPU() && rowsOfTile <= kStreamingRows) {
    bool isMatrix = hasMatrixUnits(lhs.getElementType(), rowsOfTile);
    n = selectStreamingColumns(batches, columns,
                               isMatrix ? kWideImbalance : kImbalance);
    if (isMatrix && n < kMinWideColumns)
      n = selectStreamingColumns(batches, columns, kMatrixImbalance);
    if (isMatrix && n < kMinMatrixColumns)
      n = selectMatrixColumns(batches, columns);
  } else {
    // Tiles that are too small reread their panels too often. On a GPU, whose
    // SMs share the bandwidth, rereading costs more than an uneven end, but
    // less than idle SMs.
    int64_t leastM = kMinTileRows;
    int64_t leastN = isCPU() ? 32 : kMinTileColumns;
    int64_t wantedTiles = isCPU() ? getWantedTiles() : target.getSms();
    if (hasMatrixUnits(lhs.getElementType(), rowsOfTile))
      wantedTiles = getLeastTiles(target);
    halveTile(m, n, leastM, leastN,
              [&] { return countTiles(domain, tile) >= wantedTiles; });
  }
  if (matmulM > 0)
    m = matmulM;
  if (matmulN > 0)
    n = matmulN;
  return tile;
}

/// Threads widen quantized weights for every row of a tile, and read each
/// weight once for all of these rows.
Tile TileSelector::selectQuantizedMatmul(ArrayRef<int64_t> domain) const {
  int64_t rows =
      matmulM > 0 ? matmulM : std::clamp<int64_t>(domain[0], 1, kStreamingRows);
  int64_t tiles = divideCeil(std::max<int64_t>(domain[0], 1), rows);
  int64_t columns = isCPU()
                        ? selectDotColumns(tiles, domain[1])
                        : selectStreamingColumns(tiles, domain[1], kImbalance);
  return {rows, matmulN > 0 ? matmulN : columns};
}

/// Returns a tile that matrix units multiply, or nothing if they multiply none.
std::optional<Tile>
TileSelector::findConvolution(ConvolutionOp op,
                              ArrayRef<int64_t> domain) const {
  bool areStaged = isa<BlockArgument>(op.getFilters()) &&
                   isa<BlockArgument>(op.getImages()) &&
                   tensorType(op.getFilters()).getElementTypeBitWidth() == 16;
  std::optional<ConvolutionTile> found =
      areStaged ? findConvolutionTile(target, getConvolutionSizes(op))
                : std::nullopt;
  if (!found)
    return std::nullopt;
  Tile tile(domain.size() - 3, 1);
  tile.append({found->features, found->rows, domain.back()});
  return tile;
}

bool TileSelector::needsListedTile(GroupOp group) const {
  Operation *anchor = getTileAnchor(group);
  if (auto convolution = dyn_cast_if_present<ConvolutionOp>(anchor))
    return findConvolution(convolution, getDomain(group)).has_value();
  auto matmul = dyn_cast_if_present<MatmulOp>(anchor);
  return matmul && matmulM == 0 && matmulN == 0 && !canWarpsRead(matmul) &&
         findMatrixTile(matmul, getDomain(group));
}
