//===- SelectAttentionTile.cpp - Tiles of attention -----------------------===//

#include "passes/tiling/selection/TileSelector.h"

#include "dialects/ark/ArkInference.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/OnePassAttention.h"
#include "lib/support/Streaming.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::divideCeil;

/// The scores of several heads may take 1/kHeadsShare of the shared memory of
/// an SM. Longer scores justify one SM per head.
static constexpr int64_t kHeadsShare = 8;
/// Upper bound of the bytes of shared memory that are reserved for other
/// temporaries and for the tables of the kernel. Half of a smaller memory is
/// reserved.
static constexpr int64_t kMaxReservedBytes = 65536;
/// Query rows of a tile for the matrix units of warps, which read keys and
/// values once for all rows of a tile. A tile has more rows only if no smaller
/// number of rows divides the queries.
static constexpr int64_t kMatrixRows = 128;
/// Maximum query rows of a tile that divides the queries and has more rows than
/// wanted.
static constexpr int64_t kMaxDividedRows = 256;
/// Scores are f32.
static constexpr int64_t kScoreBytes = 4;

/// Returns the bytes of shared memory that the scores of a tile may take.
static int64_t getScoreBytes(TargetAttr target) {
  int64_t memory = target.getSharedMemory();
  return memory - std::min(kMaxReservedBytes, memory / 2);
}

/// Returns true if operands are arguments of the group, or views of all their
/// elements.
static bool areDirect(ArrayRef<Value> operands) {
  return llvm::all_of(operands, [](Value operand) {
    while (Operation *op = operand.getDefiningOp()) {
      auto view = dyn_cast<ViewOpInterface>(op);
      if (!view || tensorType(view.getViewSource()).getNumElements() !=
                       tensorType(operand).getNumElements())
        return false;
      operand = view.getViewSource();
    }
    return true;
  });
}

/// Returns true unless warps compute the attention in one pass over the keys,
/// which stores no scores. Keys and values then come directly from memory.
bool TileSelector::needsScores(AttentionOpInterface op) const {
  RankedTensorType key = tensorType(op.getKey()),
                   value = tensorType(op.getValue());
  int64_t depth = key.getShape().back();
  bool isDirect = areDirect({op.getKey(), op.getValue()});
  MmaAttr mma = isCPU() ? MmaAttr() : target.getGpu().findRegisterMma();
  bool hasReusableScores = mma && (mma.hasAccumulatorsInThreadsOfLhs() ||
                                   mma.hasAccumulatorsInThreadsOfRhs());
  return !hasReusableScores || !isDirect ||
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
  int64_t depth = tensorType(op.getKey()).getShape().back();
  if (!mma || depth % kWarpgroupDepthUnit != 0)
    return {0, 0};
  int64_t groups = target.getWarps() / mma.getWarps();
  return {(groups - 1) * mma.getM() + 1, groups * mma.getM()};
}

/// Returns the smallest divisor of `number` from `least` to `most`, or zero.
static int64_t findLargerDivisor(int64_t number, int64_t least, int64_t most) {
  for (int64_t divisor = least; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0)
      return divisor;
  return 0;
}

/// Returns true if a tile of `rows` rows stores its scores. No matrix units
/// compute clipped tiles, so that these tiles store their scores as well.
bool TileSelector::storesScores(AttentionOpInterface op, int64_t queries,
                                int64_t rows) const {
  return needsScores(op) || queries % rows != 0;
}

/// Returns the number of query rows of a tile, about `wanted`. Matrix units
/// compute tiles of any number of rows, but no clipped tiles: the next smaller
/// divisor of the queries is best, or else the next larger one.
int64_t TileSelector::divideQueries(AttentionOpInterface op, int64_t queries,
                                    int64_t wanted) const {
  if (!needsScores(op)) {
    if (int64_t rows = findDivisor(queries, wanted))
      return rows;
    if (int64_t rows = findLargerDivisor(queries, wanted + 1, kMaxDividedRows))
      return rows;
  }
  return divideEvenly(queries, wanted, 8);
}

Tile TileSelector::selectAttention(AttentionOpInterface op,
                                   ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  int64_t queries = domain[rank - 2];
  int64_t keys = tensorType(op.getKey()).getDimSize(rank - 2);
  int64_t memory = target.getSharedMemory();
  Tile tile(rank, 1);
  tile[rank - 1] = domain[rank - 1];
  int64_t &rows = tile[rank - 2], &heads = tile[rank - 3];
  rows = divideQueries(op, queries, attentionRows);
  // Matrix units read all keys once for all rows of a tile.
  auto widen = [&](int64_t least, int64_t most) {
    Tile wide = tile;
    wide[rank - 2] = divideQueries(op, queries, most);
    if (wide[rank - 2] < least ||
        countTiles(domain, wide) < getLeastTiles(target) ||
        !hasMatrixUnits(tensorType(op.getKey()).getElementType(),
                        wide[rank - 2]))
      return false;
    rows = wide[rank - 2];
    return true;
  };
  auto [least, most] = getWarpgroupRows(op);
  if (most == 0 || !widen(least, most))
    widen(1, kMatrixRows);
  while (storesScores(op, queries, rows) && rows > 1 &&
         !fitScores(rows * keys, getScoreBytes(target)))
    rows = divideCeil(rows, 2);
  // Query heads of one key head read the same keys and values.
  int64_t kvHeads = tensorType(op.getKey()).getDimSize(rank - 3);
  int64_t sharing = kvHeads ? domain[rank - 3] / kvHeads : 1;
  if (queries * sharing <= kStreamingRows)
    heads = sharing;
  while (heads > 1 && !fitScores(heads * rows * keys, memory / kHeadsShare))
    heads = divideCeil(heads, 2);
  return tile;
}

std::optional<int64_t>
TileSelector::getDividedDim(GroupOp group, ArrayRef<int64_t> tile) const {
  auto op = dyn_cast_if_present<AttentionOpInterface>(
      static_cast<Operation *>(getTileAnchor(group)));
  if (!op || op.hasPartitions())
    return std::nullopt;
  int64_t dim = tile.size() - 2;
  if (storesScores(op, getDomain(group)[dim], tile[dim]))
    return std::nullopt;
  return dim;
}

/// Selects whole groups of heads even if few tiles result: every SM gets a
/// partition, and sharing keys between heads is worth more than additional
/// tiles.
Tile TileSelector::selectPartitions(AttentionOpInterface op,
                                    ArrayRef<int64_t> domain) const {
  int64_t rank = domain.size();
  int64_t keys = tensorType(op.getKey()).getDimSize(rank - 3);
  int64_t memory = getScoreBytes(target);
  Tile tile(rank, 1);
  tile[rank - 1] = domain[rank - 1];
  int64_t &rows = tile[rank - 3], &heads = tile[rank - 4];
  rows = domain[rank - 3];
  heads = op.getHeadsPerKey();
  // The rows of a prompt or of a training step fill several tiles.
  if (rows > kMatrixRows) {
    rows = divideQueries(op, domain[rank - 3], attentionRows);
    heads = 1;
    if (!storesScores(op, domain[rank - 3], rows))
      return tile;
  }
  while (heads > 1 && !fitScores(heads * rows * keys, memory))
    heads = divideCeil(heads, 2);
  while (rows > 1 && !fitScores(rows * keys, memory))
    rows = divideCeil(rows, 2);
  return tile;
}
