//===- DecomposeAttention.cpp - Attention as two contractions -------------===//

#include "passes/tiling/Decompose.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Builds the ops of one attention. Iteration spaces start with the dimensions
/// of the result but the last, (batch..., head, query); then comes the key.
struct AttentionBuilder {
  AttentionBuilder(ConversionPatternRewriter &rewriter, AttentionOp op,
                   AttentionOp::Adaptor adaptor);

  Value build();

private:
  int64_t getKeys() { return keyType.getDimSize(rank - 2); }
  /// The extent of the result in dimension `dim`.
  OpFoldResult getExtent(int64_t dim) {
    return rewriter.getIndexAttr(type.getDimSize(dim));
  }
  AffineExpr dim(int64_t position) {
    return rewriter.getAffineDimExpr(position);
  }
  AffineMap getMap(ArrayRef<AffineExpr> last, int64_t numDims, bool ofKeys);

  void bindLength(Value length);
  Value sliceKeys(Value tensor, int64_t keyDim);
  Value buildScores();
  Value maskScores(Value scores);
  Value emitPosition(OpBuilder &b, Location l, Value score);
  Value buildRowMaximum(Value scores);
  Value buildPowers(Value scores, Value maximum);
  Value buildSum(Value powers);
  Value elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                    ArrayRef<OpFoldResult> shape, BodyFn body);

  ConversionPatternRewriter &rewriter;
  AttentionOp op;
  Location loc;
  Value query, key, value, mask;
  RankedTensorType type, keyType;
  Type element;
  int64_t rank;
  /// Number of keys: static, or known at run time.
  OpFoldResult length;
};
} // namespace

AttentionBuilder::AttentionBuilder(ConversionPatternRewriter &rewriter,
                                   AttentionOp op, AttentionOp::Adaptor adaptor)
    : rewriter(rewriter), op(op), loc(op.getLoc()),
      query(getContractionOperand(op.getQuery(), adaptor.getQuery())),
      key(getContractionOperand(op.getKey(), adaptor.getKey())),
      value(getContractionOperand(op.getValue(), adaptor.getValue())),
      mask(op.getMask() ? getContractionOperand(op.getMask(), adaptor.getMask())
                        : Value()),
      type(cast<RankedTensorType>(op.getType())),
      keyType(cast<RankedTensorType>(op.getKey().getType())),
      element(getComputeType(type.getElementType())), rank(type.getRank()),
      length(rewriter.getIndexAttr(keyType.getDimSize(rank - 2))) {
  if (adaptor.getKvLength())
    bindLength(adaptor.getKvLength());
}

//===----------------------------------------------------------------------===//
// Length
//===----------------------------------------------------------------------===//

/// A run-time length: keys and values beyond it are never read, whatever they
/// hold.
void AttentionBuilder::bindLength(Value scalar) {
  Value integer =
      tensor::ExtractOp::create(rewriter, loc, scalar, ValueRange());
  Value index = arith::IndexCastOp::create(rewriter, loc,
                                           rewriter.getIndexType(), integer);
  Value bound = arith::ConstantIndexOp::create(rewriter, loc, getKeys() + 1);
  Value checked = CheckIndexOp::create(rewriter, loc, index, bound);
  // Says the bound again, in terms that the later stages can see through when
  // they make room for the scores.
  AffineExpr bounds[] = {rewriter.getAffineSymbolExpr(0),
                         rewriter.getAffineConstantExpr(getKeys())};
  length =
      affine::AffineMinOp::create(
          rewriter, loc, AffineMap::get(0, 1, bounds, rewriter.getContext()),
          ValueRange{checked})
          .getResult();
  key = sliceKeys(key, rank - 2);
  value = sliceKeys(value, rank - 2);
  if (mask)
    mask =
        sliceKeys(mask, cast<RankedTensorType>(mask.getType()).getRank() - 1);
}

Value AttentionBuilder::sliceKeys(Value tensor, int64_t keyDim) {
  auto tensorType = cast<RankedTensorType>(tensor.getType());
  // One entry for all keys.
  if (keyDim < 0 || tensorType.getDimSize(keyDim) != getKeys())
    return tensor;
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), tensorType.getShape());
  sizes[keyDim] = length;
  SmallVector<OpFoldResult> zeros(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), rewriter.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(rewriter, loc, tensor, zeros, sizes,
                                        ones);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// (batch..., head) followed by `last`. Several query heads read one key head.
AffineMap AttentionBuilder::getMap(ArrayRef<AffineExpr> last, int64_t numDims,
                                   bool ofKeys) {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < rank - 2; ++position)
    exprs.push_back(dim(position));
  int64_t sharing = type.getDimSize(rank - 3) / keyType.getDimSize(rank - 3);
  if (ofKeys && sharing > 1)
    exprs.back() = exprs.back().floorDiv(sharing);
  llvm::append_range(exprs, last);
  return AffineMap::get(numDims, 0, exprs, rewriter.getContext());
}

Value AttentionBuilder::elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                                    ArrayRef<OpFoldResult> shape, BodyFn body) {
  Value init = createEmpty(rewriter, loc, shape, element);
  return createElementwise(rewriter, loc, inputs, maps, init, body);
}

/// Space (batch..., head, query, key, depth).
Value AttentionBuilder::buildScores() {
  AffineExpr q = dim(rank - 2), k = dim(rank - 1), d = dim(rank);
  AffineMap maps[] = {getMap({q, d}, rank + 1, /*ofKeys=*/false),
                      getMap({k, d}, rank + 1, /*ofKeys=*/true),
                      getMap({q, k}, rank + 1, /*ofKeys=*/false)};
  SmallVector<OpFoldResult> shape;
  for (int64_t position = 0; position < rank - 1; ++position)
    shape.push_back(getExtent(position));
  shape.push_back(length);
  return maskScores(
      createContraction(rewriter, loc, query, key, maps, shape, element));
}

/// `score` where causality admits the key, minus infinity elsewhere. The last
/// query is at the last valid key.
Value AttentionBuilder::emitPosition(OpBuilder &b, Location l, Value score) {
  Value queryIndex = linalg::IndexOp::create(b, l, rank - 2);
  Value keyIndex = linalg::IndexOp::create(b, l, rank - 1);
  Value keys = getValueOrCreateConstantIndexOp(b, l, length);
  Value queries =
      arith::ConstantIndexOp::create(b, l, type.getDimSize(rank - 2));
  // key + queries <= query + keys, free of negative numbers.
  Value left = arith::AddIOp::create(b, l, keyIndex, queries);
  Value right = arith::AddIOp::create(b, l, queryIndex, keys);
  Value admits =
      arith::CmpIOp::create(b, l, arith::CmpIPredicate::sle, left, right);
  Value least = createExtreme(b, l, element, /*least=*/true, false);
  return arith::SelectOp::create(b, l, admits, score, least);
}

Value AttentionBuilder::maskScores(Value scores) {
  SmallVector<Value> inputs = {scores};
  SmallVector<AffineMap> maps = {rewriter.getMultiDimIdentityMap(rank)};
  if (mask) {
    SmallVector<int64_t> shape(type.getShape().drop_back());
    shape.push_back(getKeys());
    inputs.push_back(mask);
    maps.push_back(getBroadcastMap(
        rewriter.getContext(),
        cast<RankedTensorType>(op.getMask().getType()).getShape(), shape));
  }
  SmallVector<OpFoldResult> shape =
      tensor::getMixedSizes(rewriter, loc, scores);
  return elementwise(
      inputs, maps, shape, [&](OpBuilder &b, Location l, ValueRange v) {
        Value scale =
            createNumber(b, l, element, op.getScale().convertToDouble());
        Value score = arith::MulFOp::create(b, l, v[0], scale);
        if (mask && v[1].getType().isInteger(1))
          score = arith::SelectOp::create(
              b, l, v[1], score,
              createExtreme(b, l, element, /*least=*/true, false));
        else if (mask)
          score = arith::AddFOp::create(b, l, score,
                                        convertScalar(b, l, v[1], element));
        return op.getCausal() ? emitPosition(b, l, score) : score;
      });
}

//===----------------------------------------------------------------------===//
// Softmax and result
//===----------------------------------------------------------------------===//

/// Zero for a row without valid key, whose scores then all give exp(-inf).
Value AttentionBuilder::buildRowMaximum(Value scores) {
  Value least = createExtreme(rewriter, loc, element, /*least=*/true, false);
  Value maximum = createReduction(
      rewriter, loc, scores, {rank - 1}, least,
      [](OpBuilder &b, Location l, ValueRange v) {
        return emitExtremum(b, l, v[0], v[1], /*isMaximum=*/true, false);
      });
  SmallVector<OpFoldResult> shape =
      tensor::getMixedSizes(rewriter, loc, maximum);
  return elementwise(
      maximum, {rewriter.getMultiDimIdentityMap(rank - 1)}, shape,
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value bound = createExtreme(b, l, element, /*least=*/true, false);
        Value isEmpty =
            arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, v[0], bound);
        return arith::SelectOp::create(b, l, isEmpty,
                                       createNumber(b, l, element, 0), v[0]);
      });
}

Value AttentionBuilder::buildPowers(Value scores, Value maximum) {
  AffineMap rows = getMapWithout(rewriter.getContext(), rank, {rank - 1});
  return elementwise({scores, maximum},
                     {rewriter.getMultiDimIdentityMap(rank), rows},
                     tensor::getMixedSizes(rewriter, loc, scores),
                     [](OpBuilder &b, Location l, ValueRange v) -> Value {
                       return math::ExpOp::create(
                           b, l, arith::SubFOp::create(b, l, v[0], v[1]));
                     });
}

/// 1 / sum of every row; zero where the sum is.
Value AttentionBuilder::buildSum(Value powers) {
  Value sum =
      createReduction(rewriter, loc, powers, {rank - 1},
                      createNumber(rewriter, loc, element, 0),
                      [](OpBuilder &b, Location l, ValueRange v) -> Value {
                        return arith::AddFOp::create(b, l, v[0], v[1]);
                      });
  return elementwise(
      sum, {rewriter.getMultiDimIdentityMap(rank - 1)},
      tensor::getMixedSizes(rewriter, loc, sum),
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value zero = createNumber(b, l, element, 0);
        Value inverse =
            arith::DivFOp::create(b, l, createNumber(b, l, element, 1), v[0]);
        Value isEmpty =
            arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, v[0], zero);
        return arith::SelectOp::create(b, l, isEmpty, zero, inverse);
      });
}

Value AttentionBuilder::build() {
  Value scores = buildScores();
  Value powers = buildPowers(scores, buildRowMaximum(scores));
  Value inverse = buildSum(powers);

  // Space (batch..., head, query, column, key). Rows are normalised after the
  // product, which has fewer elements than the powers.
  AffineExpr q = dim(rank - 2), column = dim(rank - 1), k = dim(rank);
  AffineMap maps[] = {getMap({q, k}, rank + 1, /*ofKeys=*/false),
                      getMap({k, column}, rank + 1, /*ofKeys=*/true),
                      getMap({q, column}, rank + 1, /*ofKeys=*/false)};
  SmallVector<OpFoldResult> shape =
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  Value product =
      createContraction(rewriter, loc, powers, value, maps, shape, element);
  AffineMap rows = getMapWithout(rewriter.getContext(), rank, {rank - 1});
  // A tile computes its operands in this order: the product comes right before
  // its rows are normalised.
  return elementwise({inverse, product},
                     {rows, rewriter.getMultiDimIdentityMap(rank)}, shape,
                     [](OpBuilder &b, Location l, ValueRange v) -> Value {
                       return arith::MulFOp::create(b, l, v[1], v[0]);
                     });
}

namespace {
struct DecomposeAttention : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, AttentionBuilder(rewriter, op, adaptor).build());
    return success();
  }
};
} // namespace

void ark::populateDecomposeAttention(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<DecomposeAttention>(converter, patterns.getContext());
}
