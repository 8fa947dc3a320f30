//===- DecomposeAttention.cpp - Decompose attention into contractions -----===//

#include "passes/tiling/Decompose.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Builds the ops of an attention over all keys, or over every partition of the
/// keys. Iteration spaces start with the dimensions of the result except the
/// last: (batch..., head, query) and, with partitions, the partition. The key
/// follows.
class AttentionBuilder {
public:
  template <typename OpTy>
  AttentionBuilder(ConversionPatternRewriter &rewriter, OpTy op,
                   typename OpTy::Adaptor adaptor);

  /// Builds normalised rows.
  Value buildWhole();
  /// Builds the accumulators, maxima and sums of exponentials of every
  /// partition, in consecutive columns.
  Value buildPieces();

private:
  /// Returns the number of keys of a row, or of a partition of a row, if all
  /// keys are valid.
  int64_t getMaxKeys() { return keyType.getDimSize(queryRank - 2); }
  int64_t getNumPieces() {
    return hasPieces ? keyType.getDimSize(queryRank - 1) : 1;
  }
  int64_t getNumQueries() { return type.getDimSize(queryRank - 2); }
  int64_t getNumColumns() {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }
  AffineExpr dim(int64_t position) {
    return rewriter.getAffineDimExpr(position);
  }
  SmallVector<OpFoldResult> getShape(OpFoldResult last);
  AffineMap getQueryMap(AffineExpr depth);
  AffineMap getKeyMap(AffineExpr key, AffineExpr depth);
  AffineMap getRowMap(AffineExpr last);
  AffineMap getMaskMap();

  void bindLength(Value scalar);
  void sliceKeys(Value &tensor, int64_t keyDim);
  Value buildScores();
  Value maskScores(Value scores);
  Value emitPosition(OpBuilder &b, Location l, Value score);
  Value buildMaximum(Value scores);
  Value buildFinite(Value maximum);
  Value buildPowers(Value scores, Value maximum);
  Value buildSum(Value exponentials);
  Value buildInverse(Value sum);
  Value buildProduct(Value exponentials);
  Value elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                    ArrayRef<OpFoldResult> shape, BodyFn body);

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value query, key, value, mask;
  RankedTensorType type, keyType;
  Type element;
  double scale;
  bool causal, hasPieces;
  int64_t queryRank;
  /// Number of dimensions of iteration spaces before the key.
  int64_t rows;
  /// Number of keys, and number of keys in a row of scores, which is smaller
  /// with partitions. Both may be dynamic.
  OpFoldResult length, extent;
};
} // namespace

template <typename OpTy>
AttentionBuilder::AttentionBuilder(ConversionPatternRewriter &rewriter, OpTy op,
                                   typename OpTy::Adaptor adaptor)
    : rewriter(rewriter), loc(op.getLoc()),
      query(getContractionOperand(op.getQuery(), adaptor.getQuery())),
      key(getContractionOperand(op.getKey(), adaptor.getKey())),
      value(getContractionOperand(op.getValue(), adaptor.getValue())),
      mask(op.getMask() ? getContractionOperand(op.getMask(), adaptor.getMask())
                        : Value()),
      type(cast<RankedTensorType>(op.getType())),
      keyType(cast<RankedTensorType>(op.getKey().getType())),
      element(getComputeType(type.getElementType())),
      scale(op.getScale().convertToDouble()), causal(op.getCausal()),
      hasPieces(std::is_same_v<OpTy, PartialAttentionOp>),
      queryRank(cast<RankedTensorType>(op.getQuery().getType()).getRank()),
      rows(type.getRank() - 1),
      length(rewriter.getIndexAttr(getMaxKeys() * getNumPieces())),
      extent(rewriter.getIndexAttr(getMaxKeys())) {
  if (adaptor.getKvLength())
    bindLength(adaptor.getKvLength());
}

//===----------------------------------------------------------------------===//
// Length
//===----------------------------------------------------------------------===//

/// Binds a run-time length. Keys and values beyond the length are never read.
void AttentionBuilder::bindLength(Value scalar) {
  Value integer =
      tensor::ExtractOp::create(rewriter, loc, scalar, ValueRange());
  Value index = arith::IndexCastOp::create(rewriter, loc,
                                           rewriter.getIndexType(), integer);
  int64_t pieces = getNumPieces();
  Value bound =
      arith::ConstantIndexOp::create(rewriter, loc, getMaxKeys() * pieces + 1);
  Value checked = CheckIndexOp::create(rewriter, loc, index, bound);
  SmallVector<Value> operands = {checked};
  AffineExpr count = dim(0);
  if (hasPieces) {
    // Partition `p` consists of every `pieces`-th key from key `p` on.
    operands.push_back(TileOffsetOp::create(rewriter, loc, rows - 1));
    count = (dim(0) - dim(1) + (pieces - 1)).floorDiv(pieces);
  }
  // The affine.min repeats the bound in a form from which later stages can
  // derive the size of the scores.
  AffineExpr bounds[] = {count, rewriter.getAffineConstantExpr(getMaxKeys())};
  extent =
      affine::AffineMinOp::create(
          rewriter, loc,
          AffineMap::get(operands.size(), 0, bounds, rewriter.getContext()),
          operands)
          .getResult();
  length = hasPieces ? OpFoldResult(checked) : extent;
  sliceKeys(key, queryRank - 2);
  sliceKeys(value, queryRank - 2);
  if (mask)
    sliceKeys(mask, cast<RankedTensorType>(mask.getType()).getRank() - 1 -
                        (hasPieces ? 1 : 0));
}

void AttentionBuilder::sliceKeys(Value &tensor, int64_t keyDim) {
  auto tensorType = cast<RankedTensorType>(tensor.getType());
  // The tensor has one entry for all keys.
  if (keyDim < 0 || tensorType.getDimSize(keyDim) != getMaxKeys())
    return;
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), tensorType.getShape());
  sizes[keyDim] = extent;
  SmallVector<OpFoldResult> zeros(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), rewriter.getIndexAttr(1));
  tensor =
      tensor::ExtractSliceOp::create(rewriter, loc, tensor, zeros, sizes, ones);
}

//===----------------------------------------------------------------------===//
// Iteration spaces
//===----------------------------------------------------------------------===//

/// Returns the row dimensions, followed by `last`.
SmallVector<OpFoldResult> AttentionBuilder::getShape(OpFoldResult last) {
  SmallVector<OpFoldResult> shape = getAsIndexOpFoldResult(
      rewriter.getContext(), type.getShape().drop_back());
  shape.push_back(last);
  return shape;
}

AffineMap AttentionBuilder::getRowMap(AffineExpr last) {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < rows; ++position)
    exprs.push_back(dim(position));
  exprs.push_back(last);
  return AffineMap::get(rows + 2, 0, exprs, rewriter.getContext());
}

AffineMap AttentionBuilder::getQueryMap(AffineExpr depth) {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < queryRank - 1; ++position)
    exprs.push_back(dim(position));
  exprs.push_back(depth);
  return AffineMap::get(rows + 2, 0, exprs, rewriter.getContext());
}

/// Several query heads read one key head.
AffineMap AttentionBuilder::getKeyMap(AffineExpr key, AffineExpr depth) {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < queryRank - 2; ++position)
    exprs.push_back(dim(position));
  int64_t sharing =
      type.getDimSize(queryRank - 3) / keyType.getDimSize(queryRank - 3);
  if (sharing > 1)
    exprs.back() = exprs.back().floorDiv(sharing);
  exprs.push_back(key);
  if (hasPieces)
    exprs.push_back(dim(rows - 1));
  exprs.push_back(depth);
  return AffineMap::get(rows + 2, 0, exprs, rewriter.getContext());
}

/// Maps the space of the scores to the mask. The mask has the key before the
/// partition.
AffineMap AttentionBuilder::getMaskMap() {
  SmallVector<int64_t> shape(type.getShape().take_front(queryRank - 1));
  shape.push_back(getMaxKeys());
  if (hasPieces)
    shape.push_back(getNumPieces());
  // The mask's shape before it was sliced to the run-time length: only a static
  // extent shows the broadcast.
  SmallVector<int64_t> ofMask(
      cast<RankedTensorType>(mask.getType()).getShape());
  llvm::replace(ofMask, ShapedType::kDynamic, getMaxKeys());
  AffineMap map = getBroadcastMap(rewriter.getContext(), ofMask, shape);
  if (!hasPieces)
    return map;
  SmallVector<AffineExpr> dims;
  for (int64_t position = 0; position <= rows; ++position)
    dims.push_back(dim(position));
  std::swap(dims[rows - 1], dims[rows]);
  return map.replaceDimsAndSymbols(dims, {}, rows + 1, 0);
}

Value AttentionBuilder::elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                                    ArrayRef<OpFoldResult> shape, BodyFn body) {
  Value init = createEmpty(rewriter, loc, shape, element);
  return createElementwise(rewriter, loc, inputs, maps, init, body);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Builds the scores in the space (row, key, depth).
Value AttentionBuilder::buildScores() {
  AffineExpr k = dim(rows), d = dim(rows + 1);
  AffineMap maps[] = {getQueryMap(d), getKeyMap(k, d), getRowMap(k)};
  return maskScores(createContraction(rewriter, loc, query, key, maps,
                                      getShape(extent), element));
}

/// Emits `score` if the causal mask admits the key, otherwise minus infinity.
/// The last query is at the last valid key.
Value AttentionBuilder::emitPosition(OpBuilder &b, Location l, Value score) {
  Value queryIndex = linalg::IndexOp::create(b, l, queryRank - 2);
  Value keyIndex = linalg::IndexOp::create(b, l, rows);
  if (hasPieces) {
    Value pieces = arith::ConstantIndexOp::create(b, l, getNumPieces());
    Value piece = linalg::IndexOp::create(b, l, rows - 1);
    keyIndex = arith::AddIOp::create(
        b, l, arith::MulIOp::create(b, l, keyIndex, pieces), piece);
  }
  Value keys = getValueOrCreateConstantIndexOp(b, l, length);
  Value queries = arith::ConstantIndexOp::create(b, l, getNumQueries());
  // key + queries <= query + keys, in a form without negative numbers.
  Value left = arith::AddIOp::create(b, l, keyIndex, queries);
  Value right = arith::AddIOp::create(b, l, queryIndex, keys);
  Value admits =
      arith::CmpIOp::create(b, l, arith::CmpIPredicate::sle, left, right);
  Value least = createExtreme(b, l, element, /*least=*/true, false);
  return arith::SelectOp::create(b, l, admits, score, least);
}

Value AttentionBuilder::maskScores(Value scores) {
  SmallVector<Value> inputs = {scores};
  SmallVector<AffineMap> maps = {rewriter.getMultiDimIdentityMap(rows + 1)};
  if (mask) {
    inputs.push_back(mask);
    maps.push_back(getMaskMap());
  }
  return elementwise(
      inputs, maps, getShape(extent),
      [&](OpBuilder &b, Location l, ValueRange v) {
        Value score = arith::MulFOp::create(b, l, v[0],
                                            createNumber(b, l, element, scale));
        if (mask && v[1].getType().isInteger(1))
          score = arith::SelectOp::create(
              b, l, v[1], score,
              createExtreme(b, l, element, /*least=*/true, false));
        else if (mask)
          score = arith::AddFOp::create(b, l, score,
                                        convertScalar(b, l, v[1], element));
        return causal ? emitPosition(b, l, score) : score;
      });
}

//===----------------------------------------------------------------------===//
// Softmax and result
//===----------------------------------------------------------------------===//

Value AttentionBuilder::buildMaximum(Value scores) {
  Value least = createExtreme(rewriter, loc, element, /*least=*/true, false);
  return createReduction(rewriter, loc, scores, {rows}, least,
                         [](OpBuilder &b, Location l, ValueRange v) {
                           return emitExtremum(b, l, v[0], v[1],
                                               /*isMaximum=*/true, false);
                         });
}

Value AttentionBuilder::buildFinite(Value maximum) {
  return elementwise(maximum, {rewriter.getMultiDimIdentityMap(rows)},
                     tensor::getMixedSizes(rewriter, loc, maximum),
                     [&](OpBuilder &b, Location l, ValueRange v) {
                       return emitFinite(b, l, v[0]);
                     });
}

Value AttentionBuilder::buildPowers(Value scores, Value maximum) {
  return elementwise({scores, maximum},
                     {rewriter.getMultiDimIdentityMap(rows + 1),
                      getMapWithout(rewriter.getContext(), rows + 1, {rows})},
                     tensor::getMixedSizes(rewriter, loc, scores),
                     [](OpBuilder &b, Location l, ValueRange v) {
                       return emitExponential(b, l, v[0], v[1]);
                     });
}

static Value emitSum(OpBuilder &b, Location l, ValueRange v) {
  return arith::AddFOp::create(b, l, v[0], v[1]);
}

Value AttentionBuilder::buildSum(Value exponentials) {
  return createReduction(rewriter, loc, exponentials, {rows},
                         createNumber(rewriter, loc, element, 0), emitSum);
}

Value AttentionBuilder::buildInverse(Value sum) {
  return elementwise(sum, {rewriter.getMultiDimIdentityMap(rows)},
                     tensor::getMixedSizes(rewriter, loc, sum),
                     [&](OpBuilder &b, Location l, ValueRange v) {
                       return emitInverse(b, l, v[0]);
                     });
}

/// Builds the product with the values in the space (row, column, key).
Value AttentionBuilder::buildProduct(Value exponentials) {
  AffineExpr column = dim(rows), k = dim(rows + 1);
  AffineMap maps[] = {getRowMap(k), getKeyMap(k, column), getRowMap(column)};
  return createContraction(rewriter, loc, exponentials, value, maps,
                           getShape(rewriter.getIndexAttr(getNumColumns())),
                           element);
}

Value AttentionBuilder::buildWhole() {
  Value scores = buildScores();
  Value exponentials = buildPowers(scores, buildFinite(buildMaximum(scores)));
  Value inverse = buildInverse(buildSum(exponentials));
  // Rows are normalised after the product, which has fewer elements than the
  // exponentials. A tile computes its operands in this order, so the product
  // directly precedes its normalisation.
  Value product = buildProduct(exponentials);
  return elementwise({inverse, product},
                     {getMapWithout(rewriter.getContext(), rows + 1, {rows}),
                      rewriter.getMultiDimIdentityMap(rows + 1)},
                     getShape(rewriter.getIndexAttr(getNumColumns())),
                     [](OpBuilder &b, Location l, ValueRange v) -> Value {
                       return arith::MulFOp::create(b, l, v[1], v[0]);
                     });
}

Value AttentionBuilder::buildPieces() {
  Value scores = buildScores();
  Value maximum = buildMaximum(scores);
  Value exponentials = buildPowers(scores, buildFinite(maximum));
  Value sum = buildSum(exponentials);
  Value product = buildProduct(exponentials);

  Value result = createEmpty(rewriter, loc, type.getShape(), element);
  SmallVector<OpFoldResult> offsets(rows + 1, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(rows + 1, rewriter.getIndexAttr(1));
  auto insert = [&](Value part, int64_t column, int64_t columns) {
    offsets[rows] = rewriter.getIndexAttr(column);
    result = tensor::InsertSliceOp::create(
        rewriter, loc, part, result, offsets,
        getShape(rewriter.getIndexAttr(columns)), ones);
  };
  insert(product, 0, getNumColumns());
  int64_t column = getNumColumns();
  for (Value number : {maximum, sum})
    insert(elementwise(
               number, {getMapWithout(rewriter.getContext(), rows + 1, {rows})},
               getShape(rewriter.getIndexAttr(1)),
               [](OpBuilder &, Location, ValueRange v) { return v[0]; }),
           column++, 1);
  return result;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct DecomposeAttention : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       AttentionBuilder(rewriter, op, adaptor).buildWhole());
    return success();
  }
};

struct DecomposePartialAttention : OpConversionPattern<PartialAttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PartialAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       AttentionBuilder(rewriter, op, adaptor).buildPieces());
    return success();
  }
};
} // namespace

void ark::populateDecomposeAttention(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<DecomposeAttention, DecomposePartialAttention>(
      converter, patterns.getContext());
}
