//===- SelectTiles.cpp - Select the tile of one vCTA ----------------------===//

#include "passes/tiling/selection/Passes.h"
#include "passes/tiling/selection/TileShape.h"

#include "lib/analysis/ProductTiles.h"
#include "lib/support/ChosenMatrices.h"
#include "lib/support/OnePassAttention.h"
#include "lib/support/Streaming.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SELECTTILESPASS
#include "passes/tiling/selection/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// With up to this many rows, a core computes a matmul as dot products.
static constexpr int64_t kDotRows = 4;
/// Minimum number of columns of a vCTA that computes dot products.
static constexpr int64_t kLeastDotColumns = 16;
/// The scores of several heads may take 1/kHeadsShare of an SM's memory. Longer
/// scores justify one SM per head.
static constexpr int64_t kHeadsShare = 8;
/// Bytes of an SM's memory reserved for other temporaries and the kernel's
/// tables.
static constexpr int64_t kReservedBytes = 65536;
/// Query rows for which matrix units read keys and values once.
static constexpr int64_t kMatrixRows = 128;
/// Scores are f32.
static constexpr int64_t kScoreBytes = 4;
/// The largest share of an SM in a task that streams weights may exceed the
/// mean by this fraction.
static constexpr double kImbalance = 0.02;
/// Minimum number of rows for which matrix units multiply narrow floats; matrix
/// units need large tiles of the other operand.
static constexpr int64_t kLeastMatrixRows = 2;
/// The limit on imbalance with matrix units: kWideImbalance if it permits at
/// least kLeastWideColumns columns, otherwise kMatrixImbalance.
static constexpr double kMatrixImbalance = 0.06, kWideImbalance = 0.04;
static constexpr int64_t kLeastWideColumns = 16;
/// Matrix units are no faster with fewer than kLeastMatrixColumns columns. The
/// start of a vCTA costs as much as kTileColumns columns.
static constexpr int64_t kLeastMatrixColumns = 8, kTileColumns = 4;
/// Candidates for the columns of a vCTA that streams weights.
static constexpr int64_t kStreamingColumns[] = {64, 48, 32, 24, 16, 12,
                                                8,  6,  4,  3,  2,  1};

//===----------------------------------------------------------------------===//
// Tile of the user's plan
//===----------------------------------------------------------------------===//

static FailureOr<Tile> parsePlannedTile(GroupOp group, Attribute attr) {
  Tile tile;
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attr)) {
    tile.assign(array.asArrayRef().begin(), array.asArrayRef().end());
    return tile;
  }
  auto array = dyn_cast<ArrayAttr>(attr);
  for (Attribute extent : array ? array.getValue() : ArrayRef<Attribute>()) {
    auto integer = dyn_cast<IntegerAttr>(extent);
    if (!integer)
      array = nullptr;
    else
      tile.push_back(integer.getValue().getSExtValue());
  }
  if (array)
    return tile;
  group.emitError("plan of '") << group.getName() << "' has tile = " << attr
                               << "; expected a list of extents";
  return failure();
}

/// Returns the planned tile, clipped to the result. Fails if the group cannot
/// be tiled in this way and an extent would have to change.
static FailureOr<std::optional<Tile>> keepPlanned(GroupOp group, Tile planned,
                                                  size_t numGiven) {
  Tile legal = legalize(group, planned);
  ArrayRef<int64_t> domain = getDomain(group);
  for (size_t dim = planned.size() - numGiven; dim < planned.size(); ++dim) {
    int64_t clipped = std::max<int64_t>(std::min(planned[dim], domain[dim]), 1);
    if (legal[dim] == clipped)
      continue;
    group.emitError("plan of '")
        << group.getName() << "' has tile extent " << planned[dim]
        << " in dimension " << dim << " of " << group.getResult(0).getType()
        << ", which cannot be cut like that: the nearest extent is "
        << legal[dim];
    return failure();
  }
  return std::optional<Tile>(legal);
}

/// Returns the planned tile with an extent for every dimension of the result,
/// or nothing if there is no plan.
static FailureOr<std::optional<Tile>> getPlannedTile(GroupOp group) {
  DictionaryAttr plan = group.getPlanAttr();
  Attribute attr = plan ? plan.get("tile") : Attribute();
  if (!attr)
    return std::optional<Tile>();
  FailureOr<Tile> tile = parsePlannedTile(group, attr);
  if (failed(tile))
    return failure();
  ArrayRef<int64_t> shape = getType(group.getResult(0)).getShape();
  if (tile->size() > shape.size() ||
      llvm::any_of(*tile, [](int64_t extent) { return extent <= 0; })) {
    group.emitError("plan of '")
        << group.getName() << "' has tile = " << attr
        << " for a result of type " << group.getResult(0).getType()
        << "; expected a positive extent for each of its last dimensions";
    return failure();
  }
  size_t numGiven = tile->size();
  tile->insert(tile->begin(), shape.size() - numGiven, 1);
  return keepPlanned(group, *tile, numGiven);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
struct TileSelector {
  TargetAttr target;
  int64_t rowBytes, tilesPerSM, matmulM, matmulN, attentionRows;

  Tile select(GroupOp group) const;
  bool needsListedTile(GroupOp group) const;

private:
  bool isCPU() const { return !target.isGpu(); }
  bool hasMatrixUnits(Type element, int64_t rows) const;
  int64_t getWantedTiles() const { return tilesPerSM * target.getSms(); }
  Tile selectMatmul(MatmulOp op, ArrayRef<int64_t> domain) const;
  int64_t selectStreamingColumns(int64_t batches, int64_t columns,
                                 double imbalance) const;
  int64_t selectMatrixColumns(int64_t batches, int64_t columns) const;
  int64_t selectDotColumns(int64_t batches, int64_t columns) const;
  bool hasWholeOperands(MatmulOp op, MatrixTilesAttr tiles) const;
  std::optional<Tile> findMatrixTile(MatmulOp op,
                                     ArrayRef<int64_t> domain) const;
  bool needsScores(AttentionOpInterface op) const;
  bool fitScores(int64_t scores, int64_t bytes) const;
  std::pair<int64_t, int64_t> getWarpgroupRows(AttentionOpInterface op) const;
  Tile selectAttention(AttentionOpInterface op, ArrayRef<int64_t> domain) const;
  Tile selectPartitions(AttentionOpInterface op,
                        ArrayRef<int64_t> domain) const;
  int64_t getWantedBytes(GroupOp group, ArrayRef<int64_t> domain) const;
  Tile selectRows(GroupOp group, ArrayRef<int64_t> domain) const;
};
} // namespace

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
  return std::clamp(share, std::min(kLeastDotColumns, columns), columns);
}

/// Returns true if all rows of the left operand are multiplied by the same
/// right operand, so that leading dimensions act as further rows.
static bool sharesRightSide(MatmulOp op) {
  return llvm::all_of(getType(op.getRhs()).getShape().drop_back(2),
                      [](int64_t extent) { return extent == 1; });
}

/// Returns true if matrix units multiply this many rows.
bool TileSelector::hasMatrixUnits(Type element, int64_t rows) const {
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  return !isCPU() && !target.getGpu().getMma().empty() && isNarrow &&
         rows >= kLeastMatrixRows;
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
  RankedTensorType lhs = getType(op.getLhs());
  bool isStaged = hasSplitElements(op) ||
                  (hasMatrixUnits(lhs.getElementType(), kLeastMatrixRows) &&
                   lhs.getElementTypeBitWidth() == 16);
  return isStaged &&
         getType(op.getRhs()).getElementType() == lhs.getElementType() &&
         isa<BlockArgument>(op.getLhs()) && isa<BlockArgument>(op.getRhs()) &&
         (isAlongDepth(op) || tiles.getPanel() > 0) &&
         getDepth(op) % tiles.getDepth() == 0;
}

/// Returns the listed tile with the shortest predicted time. Returns nothing if
/// no listed tile divides the result, or if tiles of another size keep more SMs
/// busy.
std::optional<Tile>
TileSelector::findMatrixTile(MatmulOp op, ArrayRef<int64_t> domain) const {
  MatrixTilesAttr listed =
      isCPU() ? MatrixTilesAttr() : target.getGpu().getMatrixTiles();
  if (!listed || !hasWholeOperands(op, listed))
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
  RankedTensorType lhs = getType(op.getLhs());
  int64_t depth = getDepth(op);
  Tile tile(rank, 1);
  int64_t &m = tile[rank - 2], &n = tile[rank - 1];
  // Deep panels of 128 columns would not fit the L2 cache.
  int64_t wantedN = isCPU() && depth > 1024 ? 64 : kMostTileSide;
  int64_t wantedM = isCPU() || rows <= 64 ? 64 : kMostTileSide;
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
  } else if (!isCPU() && rowsOfTile <= kStreamingRows && getChosen(op)) {
    // Parameters of matrices that an index chooses are not streamed. Each vCTA
    // waits for its index and its rows, so few large tiles are faster than
    // equal shares.
    n = selectMatrixColumns(batches, columns);
  } else if (!isCPU() && rowsOfTile <= kStreamingRows) {
    bool isMatrix = hasMatrixUnits(lhs.getElementType(), rowsOfTile);
    n = selectStreamingColumns(batches, columns,
                               isMatrix ? kWideImbalance : kImbalance);
    if (isMatrix && n < kLeastWideColumns)
      n = selectStreamingColumns(batches, columns, kMatrixImbalance);
    if (isMatrix && n < kLeastMatrixColumns)
      n = selectMatrixColumns(batches, columns);
  } else {
    // Tiles that are too small reread their panels too often. On a GPU, whose
    // SMs share the bandwidth, rereading costs more than an uneven end, but
    // less than idle SMs.
    int64_t leastM = kLeastTileRows;
    int64_t leastN = isCPU() ? 32 : kLeastTileColumns;
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

/// Returns true unless warps compute the attention in one pass over the keys,
/// which stores no scores. Keys and values then come directly from memory.
bool TileSelector::needsScores(AttentionOpInterface op) const {
  RankedTensorType key = getType(op.getKey()), value = getType(op.getValue());
  int64_t depth = key.getShape().back();
  bool isDirect =
      llvm::all_of(ValueRange{op.getKey(), op.getValue()}, [](Value operand) {
        while (Operation *view = operand.getDefiningOp()) {
          if (!isa<ReshapeOp, TransposeOp>(view))
            return false;
          operand = view->getOperand(0);
        }
        return true;
      });
  MmaAttr mma = isCPU() ? MmaAttr() : target.getGpu().findRegisterMma();
  return !mma || !mma.hasAccumulatorsInThreadsOfLhs() || !isDirect ||
         !(key.getElementType().isBF16() || key.getElementType().isF16()) ||
         value.getShape().back() != depth || depth > kMaxOnePassDepth ||
         depth % kOnePassDepthUnit != 0;
}

/// Returns true if the scores take at most `bytes`; always true on cpu, where a
/// core has no private memory.
bool TileSelector::fitScores(int64_t scores, int64_t bytes) const {
  return isCPU() || scores * kScoreBytes <= bytes;
}

/// Returns the minimum and the maximum number of rows of a tile whose blocks
/// the warpgroups of a CTA compute. Returns zeros if warpgroups do not compute
/// the attention.
std::pair<int64_t, int64_t>
TileSelector::getWarpgroupRows(AttentionOpInterface op) const {
  if (needsScores(op))
    return {0, 0};
  MmaAttr mma = target.getGpu().findSharedMemoryMma();
  int64_t depth = getType(op.getKey()).getShape().back();
  if (!mma || depth % kWarpgroupDepthUnit != 0)
    return {0, 0};
  int64_t groups = target.getWarps() / mma.getWarps();
  return {(groups - 1) * mma.getM() + 1, groups * mma.getM()};
}

Tile TileSelector::selectAttention(AttentionOpInterface op,
                                   ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  int64_t queries = domain[rank - 2];
  int64_t keys = getType(op.getKey()).getDimSize(rank - 2);
  int64_t memory = target.getSharedMemory();
  Tile tile(rank, 1);
  tile[rank - 1] = domain[rank - 1];
  int64_t &rows = tile[rank - 2], &heads = tile[rank - 3];
  rows = divideEvenly(queries, attentionRows, 8);
  // Matrix units read all keys once for all rows of a tile.
  auto widen = [&](int64_t least, int64_t most) {
    Tile wide = tile;
    wide[rank - 2] = divideEvenly(queries, most, 8);
    if (wide[rank - 2] < least ||
        countTiles(domain, wide) < getLeastTiles(target) ||
        !hasMatrixUnits(getType(op.getKey()).getElementType(), wide[rank - 2]))
      return false;
    rows = wide[rank - 2];
    return true;
  };
  auto [least, most] = getWarpgroupRows(op);
  if (most == 0 || !widen(least, most))
    widen(1, kMatrixRows);
  while (needsScores(op) && rows > 1 &&
         !fitScores(rows * keys, memory - kReservedBytes))
    rows = divideCeil(rows, 2);
  // Query heads of one key head read the same keys and values.
  int64_t kvHeads = getType(op.getKey()).getDimSize(rank - 3);
  int64_t sharing = kvHeads ? domain[rank - 3] / kvHeads : 1;
  if (queries * sharing <= kStreamingRows)
    heads = sharing;
  while (heads > 1 && !fitScores(heads * rows * keys, memory / kHeadsShare))
    heads = divideCeil(heads, 2);
  return tile;
}

/// Selects whole groups of heads even if few tiles result: every SM gets a
/// partition, and sharing keys between heads is worth more than additional
/// tiles.
Tile TileSelector::selectPartitions(AttentionOpInterface op,
                                    ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  int64_t keys = getType(op.getKey()).getDimSize(rank - 3);
  int64_t memory = target.getSharedMemory() - kReservedBytes;
  Tile tile(rank, 1);
  tile[rank - 1] = domain[rank - 1];
  int64_t &rows = tile[rank - 3], &heads = tile[rank - 4];
  rows = domain[rank - 3];
  heads = op.getHeadsPerKey();
  // The rows of a prompt or of a training step fill several tiles.
  if (rows > kMatrixRows && !needsScores(op)) {
    rows = divideEvenly(rows, attentionRows, 8);
    heads = 1;
    return tile;
  }
  while (heads > 1 && !fitScores(heads * rows * keys, memory))
    heads = divideCeil(heads, 2);
  while (rows > 1 && !fitScores(rows * keys, memory))
    rows = divideCeil(rows, 2);
  return tile;
}

/// Returns the bytes of a tile of rows. A hand-off between GPUs takes longer
/// than one between SMs, so that an SM of a GPU has one tile to put or to
/// receive.
int64_t TileSelector::getWantedBytes(GroupOp group,
                                     ArrayRef<int64_t> domain) const {
  if (isCPU() || !(isReadByAnotherRank(group) || readsAnotherRank(group)))
    return rowBytes;
  int64_t bytes =
      ShapedType::getNumElements(domain) * getBytesPerElement(group);
  return std::max<int64_t>(rowBytes, divideCeil(bytes, getLeastTiles(target)));
}

/// Returns the minimum extent of the last dimension of a tile of rows.
///
/// If other dimensions are not divided, rows are divided along their last
/// dimension instead, down to one memory transaction.
static int64_t getLeastLastExtent(GroupOp group, bool hasSerialDims,
                                  TargetAttr target) {
  if (hasSerialDims)
    return divideCeil(kSectorBytes * 8,
                      getType(group.getResult(0)).getElementTypeBitWidth());
  return getLeastColumns(group, target);
}

Tile TileSelector::selectRows(GroupOp group, ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  SmallVector<int64_t> wholeDims, serialDims;
  if (AnchorOpInterface anchor = getTileAnchor(group)) {
    wholeDims = anchor.getWholeDims(rank);
    serialDims = anchor.getSerialDims();
  }
  wholeDims.append(serialDims);
  int64_t leastLast = getLeastLastExtent(group, !serialDims.empty(), target);
  int64_t bytes = getBytesPerElement(group);
  int64_t tileBytes = getWantedBytes(group, domain);
  Tile tile(rank, 1);
  for (int64_t dim : wholeDims) {
    tile[dim] = std::max<int64_t>(domain[dim], 1);
    bytes *= tile[dim];
  }
  // Innermost dimensions come first, because they are contiguous in memory.
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    if (llvm::is_contained(wholeDims, dim))
      continue;
    int64_t least = dim == rank - 1 ? getLeastColumns(group, target) : 1;
    int64_t wanted = std::max<int64_t>(tileBytes / bytes, least);
    tile[dim] = divideEvenly(domain[dim], wanted, dim == rank - 1 ? 16 : 1);
    bytes *= tile[dim];
    if (tile[dim] < domain[dim])
      break;
  }
  // Selects smaller tiles if SMs would idle, down to the size that justifies a
  // vCTA. The threads of a GPU's CTA wait for a large tile as long as for a
  // small one.
  int64_t wantedTiles = isCPU() ? getWantedTiles() : target.getSms();
  if (tileBytes > rowBytes)
    wantedTiles = getLeastTiles(target);
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t least = dim == rank - 1 ? leastLast : 1;
    while (countTiles(domain, tile) < wantedTiles && tile[dim] > least &&
           !llvm::is_contained(wholeDims, dim) && bytes > rowBytes / 16) {
      bytes /= 2;
      tile[dim] = std::max<int64_t>(divideCeil(tile[dim], 2), least);
    }
  }
  return tile;
}

Tile TileSelector::select(GroupOp group) const {
  Operation *anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group);
  if (auto matmul = dyn_cast_if_present<MatmulOp>(anchor)) {
    std::optional<Tile> tile = findMatrixTile(matmul, domain);
    bool isFixed = matmulM > 0 || matmulN > 0;
    return tile && !isFixed ? *tile : selectMatmul(matmul, domain);
  }
  if (auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor))
    return attention.hasPartitions() ? selectPartitions(attention, domain)
                                     : selectAttention(attention, domain);
  return selectRows(group, domain);
}

/// Returns true if a group has a listed tile and would run without matrix units
/// in tiles of any other size.
bool TileSelector::needsListedTile(GroupOp group) const {
  Operation *anchor = getTileAnchor(group);
  auto matmul = dyn_cast_if_present<MatmulOp>(anchor);
  return matmul && matmulM == 0 && matmulN == 0 && !canWarpsRead(matmul) &&
         findMatrixTile(matmul, getDomain(group));
}

/// Returns true for an attention over partitions of the keys. Its tiles are not
/// cut further, since every SM has a partition.
static bool hasPartitions(Operation *anchor) {
  auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor);
  return attention && attention.hasPartitions();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct SelectTilesPass : ark::impl::SelectTilesPassBase<SelectTilesPass> {
  using SelectTilesPassBase::SelectTilesPassBase;

  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto target =
        module ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
               : TargetAttr();
    if (!target) {
      getOperation().emitError("the module has no '")
          << ArkDialect::kTargetAttr << "' to choose tiles for";
      return signalPassFailure();
    }
    TileSelector selector{target,  rowBytes, tilesPerSM,
                          matmulM, matmulN,  attentionRows};
    llvm::SmallPtrSet<Operation *, 32> movable;
    for (auto group : getOperation().getBody().getOps<GroupOp>()) {
      if (std::optional<ArrayRef<int64_t>> tile = group.getTile()) {
        group.setTile(legalize(group, Tile(*tile)));
        continue;
      }
      FailureOr<std::optional<Tile>> planned = getPlannedTile(group);
      if (failed(planned))
        return signalPassFailure();
      ++(*planned ? numPlanned : numSelected);
      if (*planned) {
        group.setTile(**planned);
        continue;
      }
      Tile tile = legalize(group, selector.select(group));
      if (selector.needsListedTile(group)) {
        group.setTile(tile);
        continue;
      }
      bool isFixed =
          matmulM > 0 || matmulN > 0 || hasPartitions(getTileAnchor(group));
      group.setTile(isFixed ? tile : cutForIdleSMs(group, tile, target));
      movable.insert(group);
    }
    for (auto group : getOperation().getBody().getOps<GroupOp>())
      alignTiles(group, movable, target);
    // Runs when the tiles of all producers are final.
    for (auto group : getOperation().getBody().getOps<GroupOp>())
      alignPut(group, movable);
  }
};
} // namespace
