//===- ExpandAttentionGradients.cpp - Gradients as loops over blocks ------===//

#include "passes/target/attention/Passes.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/Softmax.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDATTENTIONGRADIENTSPASS
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

using utils::IteratorType;
using BodyFn = function_ref<Value(OpBuilder &, Location, ValueRange)>;

namespace {
/// The others of one iteration: keys if the rows are queries, and queries if
/// the rows are keys. There are `size` of them, from `begin` on, of the head
/// `group` if there is a loop over heads.
struct OtherBlock {
  Value group, begin;
  OpFoldResult size;
};

/// Builds the loops and structured ops of one gradient before it. The loops of
/// these ops are the rows, followed by one or two other loops.
class GradientExpander {
public:
  explicit GradientExpander(BlockedAttentionGradientOp op)
      : op(op), builder(op.getLoc(), op), rows(op.getNumRowLoops()) {}

  void run();

private:
  Value createIndex(int64_t number) {
    return arith::ConstantIndexOp::create(builder, number);
  }
  Value createZero() {
    return arith::ConstantOp::create(builder,
                                     builder.getZeroAttr(op.getElementType()));
  }
  AffineMap getRowMap(unsigned loops, bool withNext) {
    return builder.getMultiDimIdentityMap(loops).getMajorSubMap(rows +
                                                                withNext);
  }
  OpFoldResult getExtent(unsigned loop);
  Value createView(OpOperand &operand, const OtherBlock &block);
  AffineMap getViewMap(OpOperand &operand, ArrayRef<unsigned> others);
  void fill(Value out) { linalg::FillOp::create(builder, createZero(), out); }
  void contract(Value left, Value right, Value out, ArrayRef<AffineMap> maps);
  void compare(OpOperand &left, OpOperand &right, unsigned loop, Value out,
               const OtherBlock &block);
  void addUp(Value factors, OpOperand &right, unsigned loop, Value out,
             const OtherBlock &block);
  void build(ValueRange inputs, Value out, ArrayRef<AffineMap> maps,
             BodyFn body);
  Value emitScore(OpBuilder &b, Location l, const OtherBlock &block, Value dot,
                  Value mask);
  void buildWeights(Value weights, const OtherBlock &block);
  void buildShares(Value weights, Value slopes, const OtherBlock &block);
  void buildBlock(const OtherBlock &block);
  void buildBlocks(Value group);

  BlockedAttentionGradientOp op;
  ImplicitLocOpBuilder builder;
  unsigned rows;
};
} // namespace

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns the extent of a loop from an operand.
OpFoldResult GradientExpander::getExtent(unsigned loop) {
  OpFoldResult extent;
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] : llvm::enumerate(op.getMap(operand).getResults())) {
      auto index = dyn_cast<AffineDimExpr>(expr);
      if (!index || index.getPosition() != loop ||
          (extent && op.getShape(&operand)[dim] == ShapedType::kDynamic))
        continue;
      extent =
          memref::getMixedSize(builder, builder.getLoc(), operand.get(), dim);
    }
  return extent;
}

/// Creates the view of an operand that a block needs. Memory of a block has the
/// extent of the block. The view lacks the dimension of heads.
Value GradientExpander::createView(OpOperand &operand,
                                   const OtherBlock &block) {
  auto type = cast<MemRefType>(operand.get().getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1)),
      sizes = memref::getMixedSizes(builder, builder.getLoc(), operand.get());
  SmallVector<int64_t> shape;
  for (auto [dim, expr] : llvm::enumerate(op.getMap(operand).getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    bool isGroup = block.group && loop && loop.getPosition() == rows;
    bool isOther = loop && loop.getPosition() == op.getOtherLoop();
    if (isGroup) {
      offsets[dim] = block.group;
      sizes[dim] = builder.getIndexAttr(1);
      continue;
    }
    if (isOther)
      offsets[dim] = block.begin;
    if (isOther || (loop && loop.getPosition() == op.getBlockLoop()))
      sizes[dim] = block.size;
    shape.push_back(
        getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic));
  }
  if (llvm::all_of(offsets, isZeroInteger) && shape == type.getShape())
    return operand.get();
  MemRefType reduced = memref::SubViewOp::inferRankReducedResultType(
      shape, type, offsets, sizes, ones);
  return memref::SubViewOp::create(builder, reduced, operand.get(), offsets,
                                   sizes, ones);
}

/// Returns the map of a view from the rows and the loops `others` of the op.
AffineMap GradientExpander::getViewMap(OpOperand &operand,
                                       ArrayRef<unsigned> others) {
  SmallVector<AffineExpr> loops(op.getNumLoops(),
                                builder.getAffineConstantExpr(0));
  for (unsigned loop = 0; loop < rows; ++loop)
    loops[loop] = builder.getAffineDimExpr(loop);
  for (auto [i, loop] : llvm::enumerate(others))
    loops[loop] = builder.getAffineDimExpr(rows + i);
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : op.getMap(operand).getResults())
    if (op.getNumOtherLoops() == 1 || !expr.isFunctionOfDim(rows))
      exprs.push_back(expr.replaceDims(loops));
  return AffineMap::get(rows + others.size(), 0, exprs, builder.getContext());
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

/// Adds the sums of products over the last loop to `out`.
void GradientExpander::contract(Value left, Value right, Value out,
                                ArrayRef<AffineMap> maps) {
  linalg::ContractOp::create(builder, TypeRange(), ValueRange{left, right},
                             ValueRange{out},
                             builder.getAffineMapArrayAttr(maps));
}

/// Computes `out`, the products of all rows of `left` and `right` over `loop`.
void GradientExpander::compare(OpOperand &left, OpOperand &right, unsigned loop,
                               Value out, const OtherBlock &block) {
  SmallVector<unsigned> others = {op.getOtherLoop(), loop};
  fill(out);
  contract(left.get(), createView(right, block), out,
           {getViewMap(left, others), getViewMap(right, others),
            getRowMap(rows + 2, /*withNext=*/true)});
}

/// Adds the sums of `factors` times `right` over the others to `out`.
void GradientExpander::addUp(Value factors, OpOperand &right, unsigned loop,
                             Value out, const OtherBlock &block) {
  AffineMap all = builder.getMultiDimIdentityMap(rows + 2);
  auto loops = llvm::to_vector(llvm::seq(0u, rows));
  loops.push_back(rows + 1);
  contract(factors, createView(right, block), out,
           {all.getSubMap(loops), getViewMap(right, {loop, op.getOtherLoop()}),
            getRowMap(rows + 2, /*withNext=*/true)});
}

/// Builds an op on the pairs of rows and others.
void GradientExpander::build(ValueRange inputs, Value out,
                             ArrayRef<AffineMap> maps, BodyFn body) {
  SmallVector<IteratorType> iterators(rows + 1, IteratorType::parallel);
  linalg::GenericOp::create(
      builder, TypeRange(), inputs, ValueRange{out}, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange elements) {
        linalg::YieldOp::create(b, l, body(b, l, elements));
      });
}

/// Emits the region of the op.
Value GradientExpander::emitScore(OpBuilder &b, Location l,
                                  const OtherBlock &block, Value dot,
                                  Value mask) {
  IRMapping mapping;
  for (auto [loop, index] : llvm::enumerate(op.getIndices())) {
    if (index.use_empty())
      continue;
    if (loop < rows) {
      mapping.map(index, linalg::IndexOp::create(b, l, loop));
    } else if (loop < op.getOtherLoop()) {
      mapping.map(index, block.group);
    } else {
      Value inBlock = linalg::IndexOp::create(b, l, rows);
      mapping.map(index, arith::AddIOp::create(b, l, inBlock, block.begin));
    }
  }
  mapping.map(op.getDotArgument(), dot);
  if (op.getMask())
    mapping.map(op.getMaskArgument(), mask);
  for (Operation &inner : op.getScoreBlock()->without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(op.getScore());
}

/// Replaces products of queries and keys by weights.
void GradientExpander::buildWeights(Value weights, const OtherBlock &block) {
  unsigned other = op.getOtherLoop();
  SmallVector<Value> inputs = {createView(op.getLogSumExpMutable(), block)};
  SmallVector<AffineMap> maps = {getViewMap(op.getLogSumExpMutable(), other)};
  if (op.getMask()) {
    inputs.push_back(createView(op.getMaskMutable()[0], block));
    maps.push_back(getViewMap(op.getMaskMutable()[0], other));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rows + 1));
  build(inputs, weights, maps,
        [&](OpBuilder &b, Location l, ValueRange elements) {
          Value score = emitScore(b, l, block, elements.back(), elements[1]);
          return emitExponential(b, l, score, elements.front());
        });
}

/// Replaces slopes by the shares of the sums. A pair of weight zero has none:
/// the slope of a key beyond a run-time length may be NaN.
void GradientExpander::buildShares(Value weights, Value slopes,
                                   const OtherBlock &block) {
  AffineMap all = builder.getMultiDimIdentityMap(rows + 1);
  build({weights, createView(op.getMeanMutable(), block)}, slopes,
        {all, getViewMap(op.getMeanMutable(), op.getOtherLoop()), all},
        [](OpBuilder &b, Location l, ValueRange elements) -> Value {
          Value zero = arith::ConstantOp::create(
              b, l, b.getZeroAttr(elements[0].getType()));
          Value isHidden = arith::CmpFOp::create(
              b, l, arith::CmpFPredicate::OEQ, elements[0], zero);
          Value share = arith::MulFOp::create(
              b, l, elements[0],
              arith::SubFOp::create(b, l, elements[2], elements[1]));
          return arith::SelectOp::create(b, l, isHidden, zero, share);
        });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void GradientExpander::buildBlock(const OtherBlock &block) {
  Value weights = createView(op.getWeightsMutable(), block),
        slopes = createView(op.getSlopesMutable(), block);
  compare(op.getLeftMutable(), op.getRightMutable(), op.getDepthLoop(), weights,
          block);
  buildWeights(weights, block);
  compare(op.getLeftSlopeMutable(), op.getRightSlopeMutable(),
          op.getColumnLoop(), slopes, block);
  buildShares(weights, slopes, block);
  if (op.hasKeyRows())
    addUp(weights, op.getRightSlopeMutable(), op.getColumnLoop(),
          op.getValueGradient(), block);
  addUp(slopes, op.getRightMutable(), op.getDepthLoop(), op.getGradient(),
        block);
}

/// Builds a loop over whole blocks, and one over the block of the remaining
/// others, which has at most one iteration.
void GradientExpander::buildBlocks(Value group) {
  int64_t size = op.getBlockSize();
  OpFoldResult others = getExtent(op.getOtherLoop());
  AffineExpr count = builder.getAffineSymbolExpr(0);
  auto apply = [&](AffineExpr expr) {
    return affine::makeComposedFoldedAffineApply(
        builder, builder.getLoc(), AffineMap::get(0, 1, expr), {others});
  };
  OpFoldResult whole = apply(count.floorDiv(size) * size),
               rest = apply(count % size);
  auto toValue = [&](OpFoldResult index) {
    return getValueOrCreateConstantIndexOp(builder, builder.getLoc(), index);
  };
  Value step = createIndex(size);
  auto createLoop = [&](OpFoldResult begin, OpFoldResult end,
                        OpFoldResult extent) {
    if (getConstantIntValue(begin) &&
        getConstantIntValue(begin) == getConstantIntValue(end))
      return;
    auto loop = scf::ForOp::create(builder, toValue(begin), toValue(end), step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    buildBlock(OtherBlock{group, loop.getInductionVar(), extent});
  };
  createLoop(builder.getIndexAttr(0), whole, builder.getIndexAttr(size));
  createLoop(whole, others, rest);
}

void GradientExpander::run() {
  fill(op.getGradient());
  if (op.hasKeyRows())
    fill(op.getValueGradient());
  if (op.getNumOtherLoops() == 1) {
    buildBlocks(/*group=*/{});
  } else {
    Value heads = getValueOrCreateConstantIndexOp(builder, builder.getLoc(),
                                                  getExtent(rows));
    auto loop =
        scf::ForOp::create(builder, createIndex(0), heads, createIndex(1));
    builder.setInsertionPointToStart(loop.getBody());
    buildBlocks(loop.getInductionVar());
  }
  op.erase();
}

namespace {
struct ExpandAttentionGradientsPass
    : ark::impl::ExpandAttentionGradientsPassBase<
          ExpandAttentionGradientsPass> {
  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<BlockedAttentionGradientOp> ops;
      body.walk([&](BlockedAttentionGradientOp op) { ops.push_back(op); });
      for (BlockedAttentionGradientOp op : ops) {
        GradientExpander(op).run();
        ++numGradients;
      }
    }
  }
};
} // namespace
