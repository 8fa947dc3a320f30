//===- IdleSMs.cpp - Cut tiles further if SMs would be idle ---------------===//
//
// The cost model works on bodies, which do not exist yet. This file estimates
// the bytes and operations of a tile from its shape. Only estimates for two
// tiles of one group are compared, so costs that both tiles have are omitted.
//
//===----------------------------------------------------------------------===//

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "passes/tiling/selection/TileShape.h"

#include "dialects/ark/ArkInference.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Minimum predicted gain of a smaller tile. The estimates are coarse and
/// should decide clear cases only.
static constexpr double kMinGain = 0.05;
/// Cost of an exponential in floating-point operations.
static constexpr double kFlopsPerExponential = 8;
/// Minimum rows and columns of a matmul tile, which the innermost loops process
/// at once.
static constexpr int64_t kMinRows = 8, kMinColumns = 16;

namespace {
/// Memory traffic and operations of one vCTA.
struct Work {
  double bytes = 0, flops = 0;
};
} // namespace

static double getElementBytes(Value value) {
  return llvm::divideCeil(tensorType(value).getElementTypeBitWidth(), 8);
}

static double count(ArrayRef<int64_t> extents) {
  double product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

/// Returns the number of elements of an operand that a tile needs in the
/// leading dimensions, which are broadcast.
static double countLeading(Value operand, ArrayRef<int64_t> tile) {
  ArrayRef<int64_t> shape = tensorType(operand).getShape().drop_back(2);
  double product = 1;
  for (auto [extent, size] :
       llvm::zip(shape, tile.drop_back(2).take_back(shape.size())))
    product *= std::min(extent, size);
  return product;
}

static Work estimateMatmul(MatmulOp op, ArrayRef<int64_t> tile) {
  double depth = getDepth(op);
  double rows = tile[tile.size() - 2], columns = tile.back();
  double left = countLeading(op.getLhs(), tile) * rows * depth;
  double right = countLeading(op.getRhs(), tile) * columns * depth;
  return {left * getElementBytes(op.getLhs()) +
              right * getElementBytes(op.getRhs()) +
              count(tile) * getElementBytes(op.getResult()),
          2 * count(tile) * depth};
}

/// A tile reads the weights of its columns, their scales and their zeros. A
/// byte of the weights holds one or two numbers.
static Work estimateQuantizedMatmul(QuantizedMatmulOp op,
                                    ArrayRef<int64_t> tile) {
  double depth = tensorType(op.getLhs()).getShape().back();
  auto countRowBytes = [](Value operand) {
    return tensorType(operand).getShape().back() * getElementBytes(operand);
  };
  double columnBytes =
      countRowBytes(op.getWeights()) + countRowBytes(op.getScales());
  if (Value zeros = op.getZeros())
    columnBytes += countRowBytes(zeros);
  return {tile[0] * countRowBytes(op.getLhs()) + tile[1] * columnBytes +
              count(tile) * getElementBytes(op.getResult()),
          2 * count(tile) * depth};
}

static Work estimateAttention(AttentionOpInterface op, ArrayRef<int64_t> domain,
                              ArrayRef<int64_t> tile) {
  int64_t rank = tile.size();
  RankedTensorType key = tensorType(op.getKey());
  int64_t kvHeads = std::max<int64_t>(key.getDimSize(rank - 3), 1);
  double sharing = std::max<int64_t>(domain[rank - 3] / kvHeads, 1);
  double depths =
      key.getShape().back() + tensorType(op.getValue()).getShape().back();
  double keys = key.getDimSize(rank - 2);
  double heads = count(tile.drop_back(2)), queries = tile[rank - 2];
  double keyHeads = std::max(heads / sharing, 1.0);
  return {(keyHeads * keys + heads * queries) * depths *
              getElementBytes(op.getKey()),
          heads * queries * keys * (2 * depths + kFlopsPerExponential)};
}

/// Others are keys if the rows are queries, and queries if the rows are keys. A
/// row is multiplied by all others twice, for scores and for slopes, and one or
/// two sums of the others' vectors follow.
static Work estimateAttentionGradient(AttentionGradientOpInterface op,
                                      ArrayRef<int64_t> tile) {
  RankedTensorType query = tensorType(op.getQuery()),
                   key = tensorType(op.getKey());
  double depths =
      key.getShape().back() + tensorType(op.getValue()).getShape().back();
  ArrayRef<int64_t> queries = query.getShape().drop_back().take_back(2);
  double others =
      op.hasKeyRows() ? count(queries) : key.getShape().drop_back().back();
  double rows = count(tile.drop_back());
  return {(count(tile.drop_back(2)) * others + rows) * depths *
              getElementBytes(op.getKey()),
          rows * others * (4 * depths + kFlopsPerExponential)};
}

static Work estimate(GroupOp group, ArrayRef<int64_t> tile) {
  Operation *anchor = getTileAnchor(group);
  if (auto matmul = dyn_cast_if_present<MatmulOp>(anchor))
    return estimateMatmul(matmul, tile);
  if (auto matmul = dyn_cast_if_present<QuantizedMatmulOp>(anchor))
    return estimateQuantizedMatmul(matmul, tile);
  if (auto attention = dyn_cast_if_present<AttentionOpInterface>(anchor))
    return estimateAttention(attention, getDomain(group), tile);
  if (auto gradient = dyn_cast_if_present<AttentionGradientOpInterface>(anchor))
    return estimateAttentionGradient(gradient, tile);
  // All other ops stream their operands.
  return {count(tile) * getBytesPerElement(group), 0};
}

/// Predicts the earliest time at which a reader of the whole result can begin.
static double predictEnd(TargetAttr target, const Work &work, int64_t tiles) {
  int64_t lanes = std::min(tiles, target.getSms());
  int64_t rounds = llvm::divideCeil(tiles, target.getSms());
  double handoff = lanes > 1 ? predictHandoffNs(target, lanes) : 0;
  return rounds * predictVCTANs(target, tiles, work.bytes, work.flops) +
         handoff;
}

static int64_t getLeastExtent(GroupOp group, int64_t dim, int64_t rank,
                              TargetAttr target) {
  if (!isa_and_present<MatmulOp>(getTileAnchor(group)))
    return dim == rank - 1 ? getLeastColumns(group, target) : 1;
  if (dim < rank - 2)
    return 1;
  return dim == rank - 1 ? kMinColumns : kMinRows;
}

Tile ark::cutForIdleSMs(GroupOp group, Tile tile, TargetAttr target,
                        std::optional<int64_t> dividedDim) {
  AnchorOpInterface anchor = getTileAnchor(group);
  ArrayRef<int64_t> domain = getDomain(group);
  int64_t rank = domain.size();
  SmallVector<int64_t> serial;
  if (anchor)
    serial = anchor.getSerialDims();
  auto predict = [&](ArrayRef<int64_t> candidate) {
    return predictEnd(target, estimate(group, candidate),
                      countTiles(domain, candidate));
  };
  double end = predict(tile);
  while (countTiles(domain, tile) < target.getSms()) {
    Tile best = tile;
    double bestEnd = end * (1 - kMinGain);
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t least = getLeastExtent(group, dim, rank, target);
      int64_t half = llvm::divideCeil(tile[dim], 2);
      if (tile[dim] == 1 || half < least || llvm::is_contained(serial, dim))
        continue;
      Tile candidate = tile;
      candidate[dim] = dim == dividedDim
                           ? findDivisor(domain[dim], half)
                           : divideEvenly(domain[dim], half, least);
      if (candidate[dim] == 0)
        continue;
      candidate = legalize(group, candidate);
      if (candidate[dim] >= tile[dim])
        continue;
      if (double candidateEnd = predict(candidate); candidateEnd < bestEnd) {
        bestEnd = candidateEnd;
        best = candidate;
      }
    }
    if (best == tile)
      return tile;
    tile = best;
    end = bestEnd;
  }
  return tile;
}
