//===- DecomposeAttentionGradient.cpp - Gradients of attention ------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "lib/support/Softmax.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Number of others in a block: keys if the rows are queries, and queries if
/// the rows are keys. The operands of the products of 64 rows and 64 others fit
/// into the L1 cache of a core and into the shared memory of an SM.
static constexpr int64_t kBlock = 64;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {
/// Builds an `ark.blocked_attention_gradient`, and the ops that follow it.
/// Loops begin with the batches and the key head. For rows of queries, the
/// query head in the group, the query and the key follow; for rows of keys, the
/// key, the query head in the group and the query. The last loops are depth,
/// column and block.
class GradientBuilder {
public:
  template <typename OpTy>
  GradientBuilder(ConversionPatternRewriter &rewriter, OpTy op,
                  typename OpTy::Adaptor adaptor);

  /// Builds the gradients of queries, or those of keys beside those of values.
  Value build() { return keyRows ? buildKeyValues() : buildQueries(); }

private:
  int64_t getNumQueries() { return getShape(query)[batches + 2]; }
  AffineExpr dim(int64_t loop) { return rewriter.getAffineDimExpr(loop); }
  AffineExpr getGroup() { return dim(batches + (keyRows ? 2 : 1)); }
  AffineExpr getQuery() { return dim(batches + (keyRows ? 3 : 2)); }
  AffineExpr getKey() { return dim(batches + (keyRows ? 1 : 3)); }
  AffineExpr getDepth() { return dim(batches + 4); }
  AffineExpr getColumn() { return dim(batches + 5); }
  AffineExpr getBlock() { return dim(batches + 6); }
  AffineMap getMap(ArrayRef<AffineExpr> afterHead);
  AffineMap getRowMap(AffineExpr last);
  AffineMap getMaskMap();
  void bindLength(Value scalar);

  Value createOut(int64_t columns);
  BlockedAttentionGradientOp buildGradient();
  Value emitScore(OpBuilder &b, Location l, BlockedAttentionGradientOp op);
  Value hide(OpBuilder &b, Location l, arith::CmpIPredicate predicate,
             Value left, Value right, Value score);
  Value buildScaled(Value gradient);
  Value buildQueries();
  Value buildKeyValues();

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value query, key, value, cotangent, logSumExp, mean, mask;
  Type element;
  double scale;
  bool causal, keyRows, hasLength;
  int64_t batches, keys;
  /// The number of valid keys.
  OpFoldResult length;
};
} // namespace

template <typename OpTy>
GradientBuilder::GradientBuilder(ConversionPatternRewriter &rewriter, OpTy op,
                                 typename OpTy::Adaptor adaptor)
    : rewriter(rewriter), loc(op.getLoc()),
      query(getContractionOperand(op.getQuery(), adaptor.getQuery())),
      key(getContractionOperand(op.getKey(), adaptor.getKey())),
      value(getContractionOperand(op.getValue(), adaptor.getValue())),
      cotangent(
          getContractionOperand(op.getCotangent(), adaptor.getCotangent())),
      logSumExp(adaptor.getLogSumExp()), mean(adaptor.getMean()),
      mask(op.getMask() ? getContractionOperand(op.getMask(), adaptor.getMask())
                        : Value()),
      element(getComputeType(getElementTypeOrSelf(op.getQuery()))),
      scale(op.getScale().convertToDouble()), causal(op.getCausal()),
      keyRows(op.hasKeyRows()), hasLength(op.getKvLength()),
      batches(getShape(query).size() - 4), keys(getShape(key)[batches + 1]),
      length(rewriter.getIndexAttr(keys)) {
  if (hasLength)
    bindLength(adaptor.getKvLength());
}

//===----------------------------------------------------------------------===//
// Length
//===----------------------------------------------------------------------===//

/// Binds a run-time length. Rows of queries never read keys and values beyond
/// the length.
void GradientBuilder::bindLength(Value scalar) {
  Value integer =
      tensor::ExtractOp::create(rewriter, loc, scalar, ValueRange());
  Value index = arith::IndexCastOp::create(rewriter, loc,
                                           rewriter.getIndexType(), integer);
  Value bound = arith::ConstantIndexOp::create(rewriter, loc, keys + 1);
  Value checked = CheckIndexOp::create(rewriter, loc, index, bound);
  // The affine.min repeats the bound in a form that later stages understand.
  AffineExpr bounds[] = {dim(0), rewriter.getAffineConstantExpr(keys)};
  length = affine::AffineMinOp::create(
               rewriter, loc,
               AffineMap::get(1, 0, bounds, rewriter.getContext()), checked)
               .getResult();
  if (keyRows)
    return;
  key = sliceKeys(rewriter, loc, key, batches + 1, keys, length);
  value = sliceKeys(rewriter, loc, value, batches + 1, keys, length);
  if (mask)
    mask =
        sliceKeys(rewriter, loc, mask, getShape(mask).size() - 1, keys, length);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// Returns the map to batches, key head, and the loops `afterHead`.
AffineMap GradientBuilder::getMap(ArrayRef<AffineExpr> afterHead) {
  SmallVector<AffineExpr> exprs;
  for (int64_t loop = 0; loop <= batches; ++loop)
    exprs.push_back(dim(loop));
  llvm::append_range(exprs, afterHead);
  return AffineMap::get(batches + 7, 0, exprs, rewriter.getContext());
}

AffineMap GradientBuilder::getRowMap(AffineExpr last) {
  return keyRows ? getMap({getKey(), last})
                 : getMap({getGroup(), getQuery(), last});
}

AffineMap GradientBuilder::getMaskMap() {
  SmallVector<int64_t> scores(getShape(query).drop_back());
  scores.push_back(keys);
  // The mask's shape before it was sliced to the run-time length: only a static
  // extent shows the broadcast.
  SmallVector<int64_t> shape(getShape(mask));
  llvm::replace(shape, ShapedType::kDynamic, keys);
  AffineMap map = getBroadcastMap(rewriter.getContext(), shape, scores);
  AffineMap ofScores = getMap({getGroup(), getQuery(), getKey()});
  return map.compose(ofScores);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Emits `score` if the comparison holds, otherwise minus infinity.
Value GradientBuilder::hide(OpBuilder &b, Location l,
                            arith::CmpIPredicate predicate, Value left,
                            Value right, Value score) {
  Value admits = arith::CmpIOp::create(b, l, predicate, left, right);
  return arith::SelectOp::create(b, l, admits, score,
                                 createLeastScore(b, l, element));
}

/// Emits the score of a query and a key: scaled and masked.
Value GradientBuilder::emitScore(OpBuilder &b, Location l,
                                 BlockedAttentionGradientOp op) {
  auto indexOf = [&](AffineExpr loop) {
    return op.getIndices()[cast<AffineDimExpr>(loop).getPosition()];
  };
  Value score = arith::MulFOp::create(b, l, op.getDotArgument(),
                                      createNumber(b, l, element, scale));
  Value masked = op.getMaskArgument();
  if (masked && masked.getType().isInteger(1))
    score = arith::SelectOp::create(b, l, masked, score,
                                    createLeastScore(b, l, element));
  else if (masked)
    score = arith::AddFOp::create(b, l, score,
                                  convertScalar(b, l, masked, element));
  Value valid = getValueOrCreateConstantIndexOp(b, l, length);
  if (causal) {
    // key + queries <= query + keys, in a form without negative numbers.
    Value queries = arith::ConstantIndexOp::create(b, l, getNumQueries());
    Value left = arith::AddIOp::create(b, l, indexOf(getKey()), queries);
    Value right = arith::AddIOp::create(b, l, indexOf(getQuery()), valid);
    score = hide(b, l, arith::CmpIPredicate::sle, left, right, score);
  }
  // Rows of queries have only valid keys.
  return keyRows && hasLength ? hide(b, l, arith::CmpIPredicate::slt,
                                     indexOf(getKey()), valid, score)
                              : score;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Creates an uninitialised tensor of the rows with `columns` columns.
Value GradientBuilder::createOut(int64_t columns) {
  SmallVector<int64_t> shape(getShape(keyRows ? key : query).drop_back());
  shape.push_back(columns);
  return createEmpty(rewriter, loc, shape, element);
}

BlockedAttentionGradientOp GradientBuilder::buildGradient() {
  AffineMap queryMap = getMap({getGroup(), getQuery(), getDepth()}),
            keyMap = getMap({getKey(), getDepth()}),
            valueMap = getMap({getKey(), getColumn()}),
            cotangentMap = getMap({getGroup(), getQuery(), getColumn()}),
            statisticMap = getMap({getGroup(), getQuery()}),
            blockMap = getRowMap(getBlock());
  SmallVector<Value> vectors = {query, key, cotangent, value};
  SmallVector<AffineMap> maps = {queryMap, keyMap, cotangentMap, valueMap};
  if (keyRows) {
    vectors = {key, query, value, cotangent};
    maps = {keyMap, queryMap, valueMap, cotangentMap};
  }
  maps.append(2, statisticMap);
  if (mask)
    maps.push_back(getMaskMap());
  int64_t block = std::min(kBlock, keyRows ? getNumQueries() : keys);
  Value gradient = createOut(getShape(query).back()),
        valueGradient = keyRows ? createOut(getShape(value).back()) : Value(),
        weights = createOut(block), slopes = createOut(block);
  maps.push_back(getRowMap(getDepth()));
  SmallVector<Type> types = {gradient.getType()};
  if (valueGradient) {
    maps.push_back(getRowMap(getColumn()));
    types.push_back(valueGradient.getType());
  }
  maps.append(2, blockMap);
  types.append(2, weights.getType());
  // The number of queries that see a key depends on a run-time length.
  bool isCausal = causal && !(keyRows && hasLength);
  auto op = BlockedAttentionGradientOp::create(
      rewriter, loc, types, vectors[0], vectors[1], vectors[2], vectors[3],
      logSumExp, mean, mask, gradient, valueGradient, weights, slopes,
      rewriter.getAffineMapArrayAttr(maps), isCausal);
  OpBuilder::InsertionGuard guard(rewriter);
  Block *scoreBlock = rewriter.createBlock(&op.getRegion());
  for (int64_t loop = 0; loop < batches + 4; ++loop)
    scoreBlock->addArgument(rewriter.getIndexType(), loc);
  scoreBlock->addArgument(element, loc);
  if (mask)
    scoreBlock->addArgument(getElementTypeOrSelf(mask), loc);
  YieldOp::create(rewriter, loc, emitScore(rewriter, loc, op));
  return op;
}

/// Multiplies a gradient by the factor of the scores, after the sum.
Value GradientBuilder::buildScaled(Value gradient) {
  int64_t rank = getShape(gradient).size();
  return createElementwise(
      rewriter, loc, gradient, {rewriter.getMultiDimIdentityMap(rank)},
      createEmpty(rewriter, loc, getShape(gradient), element),
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::MulFOp::create(b, l, v[0],
                                     createNumber(b, l, element, scale));
      });
}

Value GradientBuilder::buildQueries() {
  return buildScaled(buildGradient().getResult(0));
}

Value GradientBuilder::buildKeyValues() {
  BlockedAttentionGradientOp op = buildGradient();
  Value result = createOut(getShape(key).back() + getShape(value).back());
  int64_t rank = getShape(result).size();
  SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(rank, rewriter.getIndexAttr(1));
  for (Value part : {buildScaled(op.getResult(0)), Value(op.getResult(1))}) {
    result = tensor::InsertSliceOp::create(
        rewriter, loc, part, result, offsets,
        tensor::getMixedSizes(rewriter, loc, part), ones);
    offsets.back() = rewriter.getIndexAttr(getShape(key).back());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct DecomposeAttentionGradient : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, GradientBuilder(rewriter, op, adaptor).build());
    return success();
  }
};
} // namespace

void ark::populateDecomposeAttentionGradient(const TypeConverter &converter,
                                             RewritePatternSet &patterns) {
  patterns.add<DecomposeAttentionGradient<AttentionQueryGradientOp>,
               DecomposeAttentionGradient<AttentionKeyValueGradientOp>>(
      converter, patterns.getContext());
}
