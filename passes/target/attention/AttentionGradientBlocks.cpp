//===- AttentionGradientBlocks.cpp - Gradients on matrix units ------------===//

#include "passes/target/attention/AttentionGradientBlocks.h"

#include "passes/target/attention/AttentionTiles.h"
#include "passes/target/attention/GradientTiles.h"
#include "passes/target/attention/PositionMask.h"
#include "passes/target/support/Alignment.h"

#include "lib/backend/GpuInstructions.h"
#include "lib/support/Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Up to this depth, registers hold the left operands throughout the loop.
static constexpr int64_t kMaxKeptDepth = 64;

namespace {
/// Builds the sums of one warp for a block of rows. The others are keys if the
/// rows are queries, and queries if the rows are keys. The first products
/// multiply rows by others. A thread computes the weights (P in FlashAttention)
/// and the shares (dS) in the registers in which the next product reads them.
/// Each result has a loop of its own, so that registers hold the accumulators
/// of one result at a time.
class GradientBlockBuilder : public GradientTiles {
public:
  using GradientTiles::GradientTiles;
  void build();

private:
  /// A result: the sum of weights or shares times `factor`.
  struct Sum {
    Value out;
    OpOperand *factor;
    bool hasShares;
  };
  /// A range of the others of a head.
  struct Range {
    Value begin, end;
    bool isMasked;
  };

  Value getScore(Value dot, Value row, const Step &step, int64_t i);
  Pairs loadStatistics(OpOperand &operand, const Step &step);
  Pairs getWeights(const Step &step);
  void multiplyBySlopes(MutableArrayRef<SmallVector<Value>> weights,
                        const Step &step);
  void addUp(const Sum &sum, const Step &step,
             ArrayRef<SmallVector<Value>> factors,
             MutableArrayRef<Value> accumulators);
  void buildStep(const Sum &sum, Step step,
                 MutableArrayRef<Value> accumulators);
  void findRanges();
  SmallVector<Value>
  buildLoop(Value begin, Value end, Value step, ArrayRef<Value> accumulators,
            function_ref<void(Value, SmallVector<Value> &)> body);
  SmallVector<Value> buildOthers(const Sum &sum, Value group,
                                 ArrayRef<Value> accumulators);
  void store(const Sum &sum, ArrayRef<Value> accumulators, bool isFirst);
  void storeColumns(const Sum &sum, Value row, Value column,
                    ArrayRef<Value> columns, bool isFirst);
  void combine(const Sum &sum, ArrayRef<Value> accumulators);
  void keepLeft(const Sum &sum, bool hasRoom);
  void buildSum(const Sum &sum);

  /// The causal mask, and the ranges with it and without it.
  std::optional<PositionMask> positionMask;
  SmallVector<Range> ranges;
  /// The left operands by load and row, or nothing.
  SmallVector<SmallVector<Words>> left, leftSlopes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Weights and shares
//===----------------------------------------------------------------------===//

/// Emits the score of a row and of `others[i]` by the region of the op. The
/// score is minus infinity if `others[i]` does not exist.
Value GradientBlockBuilder::getScore(Value dot, Value row, const Step &step,
                                     int64_t i) {
  IRMapping mapping;
  for (auto [loop, argument] : llvm::enumerate(op.getIndices()))
    mapping.map(argument, loop < op.getNumRowLoops() ? row
                          : loop < op.getOtherLoop() ? step.group
                                                     : step.others[i]);
  mapping.map(op.getDotArgument(), dot);
  if (op.getMask())
    mapping.map(op.getMaskArgument(),
                loadScalar(op.getMaskMutable()[0], row, step, step.others[i]));
  for (Operation &inner : op.getScoreBlock()->without_terminator())
    builder.clone(inner, mapping);
  Value score = mapping.lookupOrDefault(
      step.isMasked ? op.getScore()
                    : Value(positionMask->getSelect().getTrueValue()));
  if (!step.exists[i])
    return score;
  return arith::SelectOp::create(
      builder, step.exists[i], score,
      createLeastScore(builder, builder.getLoc(), builder.getF32Type()));
}

/// Loads a statistic of the query of each pair of a row and one of the others.
GradientBlockBuilder::Pairs
GradientBlockBuilder::loadStatistics(OpOperand &operand, const Step &step) {
  Pairs all;
  if (op.hasKeyRows()) {
    SmallVector<Value> ofOthers =
        llvm::map_to_vector(step.others, [&](Value other) {
          return loadScalar(operand, rows[0], step, other);
        });
    all.assign(getRowsPerThread(), ofOthers);
    return all;
  }
  for (Value row : rows)
    all.emplace_back(step.others.size(),
                     loadScalar(operand, row, step, step.others[0]));
  return all;
}

GradientBlockBuilder::Pairs GradientBlockBuilder::getWeights(const Step &step) {
  Pairs weights =
      compare(op.getLeftMutable(), op.getRightMutable(), left, step);
  Pairs totals = loadStatistics(op.getLogSumExpMutable(), step);
  Value log2e = number(llvm::numbers::log2ef);
  for (auto [r, row] : llvm::enumerate(weights))
    for (auto [i, weight] : llvm::enumerate(row)) {
      Value difference = arith::SubFOp::create(
          builder, getScore(weight, rows[r], step, i), totals[r][i]);
      weight = getGpuInstructions(builder).createExp2(
          builder, builder.getLoc(),
          arith::MulFOp::create(builder, difference, log2e));
    }
  return weights;
}

/// Replaces weights by shares, `weight * (slope - mean)`. The share of a pair
/// of weight zero is zero, since the slope may be NaN.
void GradientBlockBuilder::multiplyBySlopes(
    MutableArrayRef<SmallVector<Value>> weights, const Step &step) {
  Pairs slopes = compare(op.getLeftSlopeMutable(), op.getRightSlopeMutable(),
                         leftSlopes, step);
  Pairs means = loadStatistics(op.getMeanMutable(), step);
  Value zero = number(0);
  for (auto [r, row] : llvm::enumerate(weights))
    for (auto [i, weight] : llvm::enumerate(row)) {
      Value isHidden = arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ,
                                             weight, zero);
      Value centred = arith::SubFOp::create(builder, slopes[r][i], means[r][i]);
      Value share = arith::MulFOp::create(builder, weight, centred);
      weight = arith::SelectOp::create(builder, isHidden, zero, share);
    }
}

/// Adds `factors` times the rows of the sum's factor to the accumulators.
void GradientBlockBuilder::addUp(const Sum &sum, const Step &step,
                                 ArrayRef<SmallVector<Value>> factors,
                                 MutableArrayRef<Value> accumulators) {
  int64_t count = instruction->getNumAccumulators();
  SmallVector<Words> rounded = llvm::map_to_vector(
      factors, [&](const SmallVector<Value> &row) { return round(row); });
  for (const ColumnLoad &of : columnLoads) {
    if (left.empty())
      fenceLoads();
    SmallVector<Words> loaded = loadFactor(*sum.factor, step, of);
    for (int64_t next = 0; next < of.columns; ++next) {
      Words words;
      for (size_t pair = 0; pair < loaded.size(); pair += 2)
        words.push_back(getGpuInstructions(builder).joinHalves(
            builder, builder.getLoc(), loaded[pair][next / 2],
            loaded[pair + 1][next / 2], /*areUpper=*/next % 2 != 0));
      llvm::copy(multiply(rounded, words, accumulators.take_front(count)),
                 accumulators.begin());
      accumulators = accumulators.drop_front(count);
    }
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void GradientBlockBuilder::buildStep(const Sum &sum, Step step,
                                     MutableArrayRef<Value> accumulators) {
  findOthers(step);
  Pairs factors = getWeights(step);
  if (sum.hasShares)
    multiplyBySlopes(factors, step);
  addUp(sum, step, factors, accumulators);
}

/// Divides the others into two ranges: those that need a mask, and those that
/// all rows of the tile see. The border is a multiple of the others that all
/// warps process in a step.
void GradientBlockBuilder::findRanges() {
  Value query = op.getIndices().back(), key = op.getIndices().front();
  if (!op.hasKeyRows())
    std::swap(query, key);
  positionMask = PositionMask::find(op.getScore(), key, query);
  if (!positionMask) {
    ranges.push_back(Range{index(0), others, /*isMasked=*/true});
    return;
  }
  Location loc = builder.getLoc();
  int64_t unit = shape.warpsPerBlock * shape.getStepOthers();
  Value limit = op.hasKeyRows() ? add(positionMask->createFirstCommonRow(
                                          builder, loc, shape.rows - 1),
                                      unit - 1)
                                : positionMask->createCommonKeys(builder, loc);
  limit = arith::MaxSIOp::create(builder, limit, index(0));
  limit = mul(arith::DivUIOp::create(builder, limit, index(unit)), unit);
  // Early queries see few keys, and all queries see early keys.
  bool isMaskedFirst = op.hasKeyRows();
  ranges.push_back(Range{index(0), getLesser(limit, others), isMaskedFirst});
  ranges.push_back(Range{limit, others, !isMaskedFirst});
}

SmallVector<Value> GradientBlockBuilder::buildLoop(
    Value begin, Value end, Value step, ArrayRef<Value> accumulators,
    function_ref<void(Value, SmallVector<Value> &)> body) {
  auto loop = scf::ForOp::create(builder, begin, end, step, accumulators);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto inner = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  body(loop.getInductionVar(), inner);
  scf::YieldOp::create(builder, inner);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Builds the loops over the warp's share of the others of one head. Where
/// there are two loops, masks need registers, so that the masked one loads left
/// operands again.
SmallVector<Value>
GradientBlockBuilder::buildOthers(const Sum &sum, Value group,
                                  ArrayRef<Value> accumulators) {
  int64_t step = shape.getStepOthers();
  SmallVector<Value> sums(accumulators);
  for (const Range &range : ranges) {
    assignThreads();
    keepLeft(sum, !positionMask || !range.isMasked);
    // Loads of a step have addresses at fixed distances from an opaque one.
    // Otherwise, compilers would keep an address of each load in registers from
    // step to step.
    sums =
        buildLoop(add(range.begin, mul(warpInBlock, step)), range.end,
                  index(shape.warpsPerBlock * step), sums,
                  [&](Value first, SmallVector<Value> &inner) {
                    Step own{group, makeOpaque(first), {}, {}, range.isMasked};
                    buildStep(sum, own, inner);
                  });
  }
  return sums;
}

/// Stores neighbouring columns of a row, or adds them to the stored ones.
void GradientBlockBuilder::storeColumns(const Sum &sum, Value row, Value column,
                                        ArrayRef<Value> columns, bool isFirst) {
  int64_t count = std::min<int64_t>(columns.size(), kStoreElements);
  int64_t bytes = count * kAccumulatorBytes;
  auto type = VectorType::get(count, builder.getF32Type());
  llvm::MaybeAlign align(
      std::min<int64_t>(bytes, getRowAlignment(sum.out, count)));
  for (size_t begin = 0; begin < columns.size(); begin += count) {
    SmallVector<Value> indices = {row, add(column, begin)};
    Value vector = vector::FromElementsOp::create(builder, type,
                                                  columns.slice(begin, count));
    if (!isFirst)
      vector = arith::AddFOp::create(
          builder,
          vector::LoadOp::create(builder, type, sum.out, indices,
                                 /*nontemporal=*/false, align),
          vector);
    vector::StoreOp::create(builder, vector, sum.out, indices,
                            /*nontemporal=*/false, align);
  }
}

/// Stores the warp's sums, or adds them to the stored ones.
void GradientBlockBuilder::store(const Sum &sum, ArrayRef<Value> accumulators,
                                 bool isFirst) {
  int64_t perTile = instruction->getNumAccumulators();
  for (auto [r, row] : llvm::enumerate(unclampedRows)) {
    OpBuilder::InsertionGuard guard(builder);
    if (shape.hasSurplusRows()) {
      auto branch = scf::IfOp::create(builder, isLess(row, rowCount),
                                      /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    for (const ColumnLoad &of : columnLoads)
      for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
        SmallVector<Value> columns;
        for (int64_t i = 0; i < of.columns; ++i)
          columns.push_back(
              accumulators[(of.begin / getNumQuads() + i) * perTile +
                           r * getColumnsPerThread() + next]);
        Value column =
            add(mul(add(mul(inQuad, getColumnsPerThread()), next), of.columns),
                of.begin);
        storeColumns(sum, row, column, columns, isFirst);
      }
  }
}

/// Adds up the sums of the warps of a block, always in the same order.
void GradientBlockBuilder::combine(const Sum &sum,
                                   ArrayRef<Value> accumulators) {
  assignThreads();
  for (int64_t turn = 0; turn < shape.warpsPerBlock; ++turn) {
    if (turn > 0)
      gpu::BarrierOp::create(builder);
    OpBuilder::InsertionGuard guard(builder);
    if (shape.warpsPerBlock > 1) {
      Value isOwn = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                          warpInBlock, index(turn));
      auto branch = scf::IfOp::create(builder, isOwn, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    store(sum, accumulators, /*isFirst=*/turn == 0);
  }
}

/// Loads the left operands that registers hold throughout a loop, if there is
/// room for them.
void GradientBlockBuilder::keepLeft(const Sum &sum, bool hasRoom) {
  left.clear();
  leftSlopes.clear();
  if (!hasRoom || shape.depth > kMaxKeptDepth)
    return;
  for (int64_t i = 0; i < countLoads(); ++i) {
    left.push_back(loadLeft(op.getLeftMutable(), rows, i, Step()));
    if (sum.hasShares)
      leftSlopes.push_back(loadLeft(op.getLeftSlopeMutable(), rows, i, Step()));
  }
}

void GradientBlockBuilder::buildSum(const Sum &sum) {
  SmallVector<Value> accumulators(shape.depth / instruction->getColumns() *
                                      instruction->getNumAccumulators(),
                                  number(0));
  if (!groups)
    accumulators = buildOthers(sum, /*group=*/Value(), accumulators);
  else
    accumulators = buildLoop(index(0), groups, index(1), accumulators,
                             [&](Value group, SmallVector<Value> &inner) {
                               inner = buildOthers(sum, group, inner);
                             });
  combine(sum, accumulators);
}

void GradientBlockBuilder::build() {
  findExtents();
  findColumnLoads();
  findRanges();
  if (op.hasKeyRows())
    buildSum({op.getValueGradient(), &op.getRightSlopeMutable(),
              /*hasShares=*/false});
  buildSum({op.getGradient(), &op.getRightMutable(), /*hasShares=*/true});
}

void ark::buildAttentionGradientBlocks(ImplicitLocOpBuilder &builder,
                                       BlockedAttentionGradientOp op,
                                       const AttentionGradientShape &shape) {
  GradientBlockBuilder(builder, op, shape).build();
}