//===- SplitAttention.cpp - Split long keys for idle SMs (split-KV) -------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SPLITATTENTIONPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Minimum predicted gain of a split. The estimates are coarse and should
/// decide clear cases only.
static constexpr double kMinGain = 0.05;
/// Cost of an exponential in floating-point operations.
static constexpr double kFlopsPerExponential = 8;

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

namespace {
/// The extents that determine the time of an attention.
struct Sizes {
  explicit Sizes(AttentionOp op);

  double predictWhole(TargetAttr target) const;
  double predictSplit(TargetAttr target, int64_t partitions) const;

  /// Key heads of all batches, query heads per key head, and queries per query
  /// head.
  int64_t keyHeads = 1, sharing, queries;
  int64_t keys, depth, columns, bytes;

private:
  double predictPart(TargetAttr target, int64_t partitions) const;
};
} // namespace

Sizes::Sizes(AttentionOp op) {
  ArrayRef<int64_t> query = getTensorType(op.getQuery()).getShape();
  ArrayRef<int64_t> key = getTensorType(op.getKey()).getShape();
  int64_t rank = query.size();
  for (int64_t extent : key.drop_back(2))
    keyHeads *= extent;
  sharing = query[rank - 3] / key[rank - 3];
  queries = query[rank - 2];
  keys = key[rank - 2];
  depth = key[rank - 1];
  columns = getTensorType(op.getValue()).getShape().back();
  bytes =
      llvm::divideCeil(getTensorType(op.getKey()).getElementTypeBitWidth(), 8);
}

/// Predicts the time to process all partitions of the keys, with one vCTA per
/// partition and key head. All SMs are assumed to share the bandwidth equally:
/// a single vCTA cannot use the bandwidth of idle SMs.
double Sizes::predictPart(TargetAttr target, int64_t partitions) const {
  double part = static_cast<double>(keys) / partitions,
         rows = sharing * queries;
  int64_t tiles = keyHeads * partitions;
  return llvm::divideCeil(tiles, target.getSms()) *
             predictVCTANs(
                 target, target.getSms(), part * (depth + columns) * bytes,
                 rows * part * (2 * (depth + columns) + kFlopsPerExponential)) +
         predictHandoffNs(target, std::min(tiles, target.getSms()));
}

double Sizes::predictWhole(TargetAttr target) const {
  return predictPart(target, 1);
}

/// Predicts the time of the split form, in which one vCTA per key head combines
/// the partitions.
double Sizes::predictSplit(TargetAttr target, int64_t partitions) const {
  constexpr int64_t kAccumulatorBytes = 4;
  double accumulators =
      static_cast<double>(sharing) * queries * partitions * (columns + 2);
  return predictPart(target, partitions) +
         llvm::divideCeil(keyHeads, target.getSms()) *
             predictVCTANs(target, keyHeads, accumulators * kAccumulatorBytes,
                           2 * accumulators) +
         predictHandoffNs(target, std::min(keyHeads, target.getSms()));
}

/// Returns the number of partitions; 1 if the keys should not be split.
static int64_t choosePartitions(const Sizes &sizes, TargetAttr target) {
  double best = sizes.predictWhole(target) * (1 - kMinGain);
  int64_t chosen = 1;
  for (int64_t partitions = 2; partitions * sizes.keyHeads <= target.getSms();
       ++partitions) {
    if (sizes.keys % partitions != 0)
      continue;
    double predicted = sizes.predictSplit(target, partitions);
    if (predicted < best) {
      best = predicted;
      chosen = partitions;
    }
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Splits dimension `dim` into two dimensions, the second of extent
/// `partitions`.
static Value cutDim(OpBuilder &builder, Location loc, Value tensor, int64_t dim,
                    int64_t partitions) {
  SmallVector<int64_t> shape(getTensorType(tensor).getShape());
  shape[dim] /= partitions;
  shape.insert(shape.begin() + dim + 1, partitions);
  return ReshapeOp::create(builder, loc, tensor, shape);
}

/// Splits the key dimension of a mask. If the mask has one entry for all keys,
/// the result has one entry for all partitions.
static Value cutMask(OpBuilder &builder, Location loc, Value mask,
                     int64_t partitions) {
  int64_t rank = getTensorType(mask).getRank();
  if (rank == 0)
    return mask;
  bool isSame = getTensorType(mask).getShape().back() == 1;
  return cutDim(builder, loc, mask, rank - 1, isSame ? 1 : partitions);
}

/// Returns the log-sum-exps of the scores that `op` computes. The log-sum-exps
/// have the operands of `op`, and follow it.
static llvm::SmallSetVector<AttentionLogSumExpOp, 1>
findLogSumExps(AttentionOp op) {
  // An op that reads the query twice is twice among its users.
  llvm::SmallSetVector<AttentionLogSumExpOp, 1> found;
  for (Operation *user : op.getQuery().getUsers()) {
    auto other = dyn_cast<AttentionLogSumExpOp>(user);
    if (other && op->isBeforeInBlock(other) && op.getKey() == other.getKey() &&
        op.getValue() == other.getValue() && op.getMask() == other.getMask() &&
        op.getKvLength() == other.getKvLength() &&
        op.getScale() == other.getScale() &&
        op.getCausal() == other.getCausal())
      found.insert(other);
  }
  return found;
}

/// Merges the maxima and sums of all partitions into the log-sum-exp of a row.
/// A partition without a valid key has a log-sum-exp of minus infinity; a row
/// without a valid key gives zero.
static Value mergeLogSumExps(OpBuilder &b, Location loc, Value parts) {
  RankedTensorType type = getTensorType(parts);
  int64_t rank = type.getRank(), columns = type.getShape().back() - 2;
  SmallVector<int64_t> starts(rank, 0), stops(type.getShape()), ones(rank, 1);
  auto column = [&](int64_t index) -> Value {
    starts.back() = index;
    stops.back() = index + 1;
    return SliceOp::create(b, loc, parts, starts, stops, ones);
  };
  auto number = [&](const APFloat &value) -> Value {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    return ConstantOp::create(b, loc, DenseElementsAttr::get(scalar, value));
  };
  const llvm::fltSemantics &format =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  Value sums = LogOp::create(b, loc, column(columns + 1));
  Value each = AddOp::create(b, loc, column(columns), sums);
  int64_t axes[] = {rank - 2};
  Value largest =
      ReduceMaxOp::create(b, loc, each, axes, /*keepdims=*/true).getResult();
  // The difference of two infinities is NaN.
  Value shift = MaximumOp::create(
      b, loc, largest, number(APFloat::getLargest(format, /*Negative=*/true)));
  Value shares = ExpOp::create(b, loc, SubOp::create(b, loc, each, shift));
  Value total =
      ReduceSumOp::create(b, loc, shares, axes, /*keepdims=*/true).getResult();
  Value zero = number(APFloat::getZero(format));
  Value merged =
      AddOp::create(b, loc, shift, LogOp::create(b, loc, total).getResult());
  Value hasNoKey = CompareOp::create(b, loc, ComparePredicate::EQ, total, zero);
  merged = WhereOp::create(b, loc, hasNoKey, zero, merged);
  SmallVector<int64_t> shape(type.getShape().drop_back(2));
  shape.push_back(1);
  return ReshapeOp::create(b, loc, merged, shape);
}

static void split(RewriterBase &rewriter, AttentionOp op, int64_t partitions) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  RankedTensorType query = getTensorType(op.getQuery());
  int64_t keyDim = query.getRank() - 2;
  Value key = cutDim(rewriter, loc, op.getKey(), keyDim, partitions);
  Value value = cutDim(rewriter, loc, op.getValue(), keyDim, partitions);
  Value mask =
      op.getMask() ? cutMask(rewriter, loc, op.getMask(), partitions) : Value();
  // A causal mask admits all valid keys of a single query.
  bool causal = op.getCausal() && query.getDimSize(keyDim) > 1;
  auto partial =
      PartialAttentionOp::create(rewriter, loc, op.getQuery(), key, value, mask,
                                 op.getKvLength(), op.getScale(), causal);
  auto combined = CombineAttentionOp::create(rewriter, loc, partial);
  for (Operation *made : {partial.getOperation(), combined.getOperation()})
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = combined;
  if (result.getType() != op.getType())
    result =
        CastOp::create(rewriter, loc, combined,
                       cast<RankedTensorType>(op.getType()).getElementType());
  for (AttentionLogSumExpOp other : findLogSumExps(op))
    rewriter.replaceOp(other, mergeLogSumExps(rewriter, loc, partial));
  rewriter.replaceOp(op, result);
}

namespace {
struct SplitAttentionPass
    : ark::impl::SplitAttentionPassBase<SplitAttentionPass> {
  using SplitAttentionPassBase::SplitAttentionPassBase;

  int64_t getNumPartitions(AttentionOp op) {
    auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr.str());
    if (plan && plan.contains("tile"))
      return 1;
    Sizes sizes(op);
    if (sizes.sharing * sizes.queries > maxRows || sizes.keyHeads == 0 ||
        sizes.sharing * sizes.queries * sizes.columns == 0 || sizes.keys == 0)
      return 1;
    if (partitions > 0)
      return sizes.keys % partitions == 0 ? partitions : 1;
    TargetAttr target = findTarget(op);
    return target ? choosePartitions(sizes, target) : 1;
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto op : llvm::make_early_inc_range(
             getOperation().getBody().getOps<AttentionOp>())) {
      int64_t count = getNumPartitions(op);
      if (count == 1)
        continue;
      split(rewriter, op, count);
      ++numSplit;
    }
  }
};
} // namespace
