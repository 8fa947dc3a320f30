//===- DecomposeAttention.cpp - Attention before its normalisation --------===//

#include "passes/tiling/decompose/Decompose.h"

#include "lib/support/Softmax.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Builds an `ark.online_attention` over all keys, or over every partition of
/// the keys, and the ops that follow it. Loops over rows are the dimensions of
/// the result except the last: (batch..., head, query) and, with partitions,
/// the partition. Key, depth and column follow.
class AttentionBuilder {
public:
  template <typename OpTy>
  AttentionBuilder(ConversionPatternRewriter &rewriter, OpTy op,
                   typename OpTy::Adaptor adaptor);

  /// Builds normalised rows.
  Value buildWhole();
  /// Builds the logarithm of the sum of the exponentials of each row.
  Value buildLogSumExp();
  /// Builds the products, maxima and sums of exponentials of every partition,
  /// in consecutive columns.
  Value buildPartitions();

private:
  /// Returns the number of keys of a row, or of a partition of a row, if all
  /// keys are valid.
  int64_t getMaxKeys() { return keyType.getDimSize(queryRank - 2); }
  int64_t getNumPartitions() {
    return hasPartitions ? keyType.getDimSize(queryRank - 1) : 1;
  }
  int64_t getNumQueries() { return type.getDimSize(queryRank - 2); }
  int64_t getNumColumns() {
    return cast<RankedTensorType>(value.getType()).getShape().back();
  }
  AffineExpr dim(int64_t loop) { return rewriter.getAffineDimExpr(loop); }
  AffineExpr getKeyLoop() { return dim(rows); }
  AffineExpr getDepthLoop() { return dim(rows + 1); }
  AffineExpr getColumnLoop() { return dim(rows + 2); }
  AffineMap getMap(ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rows + 3, 0, exprs, rewriter.getContext());
  }
  AffineMap getRowMap(AffineExpr last = {});
  AffineMap getQueryMap();
  AffineMap getKeyMap(AffineExpr last);
  AffineMap getMaskMap();
  Value createOut(std::optional<OpFoldResult> last);

  void bindLength(Value lengths);
  OnlineAttentionOp buildAttention();
  Value emitScore(OpBuilder &b, Location l, OnlineAttentionOp op);
  Value emitPosition(OpBuilder &b, Location l, OnlineAttentionOp op,
                     Value score);
  Value buildInverse(Value sum);
  Value elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                    ArrayRef<int64_t> shape, BodyFn body);

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value query, key, value, mask;
  RankedTensorType type, keyType;
  Type element;
  double scale;
  bool causal, hasPartitions;
  int64_t queryRank;
  /// Number of loops over rows.
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
      hasPartitions(std::is_same_v<OpTy, PartialAttentionOp>),
      queryRank(cast<RankedTensorType>(op.getQuery().getType()).getRank()),
      rows(type.getRank() - 1),
      length(rewriter.getIndexAttr(getMaxKeys() * getNumPartitions())),
      extent(rewriter.getIndexAttr(getMaxKeys())) {
  if (adaptor.getKvLength())
    bindLength(adaptor.getKvLength());
}

//===----------------------------------------------------------------------===//
// Length
//===----------------------------------------------------------------------===//

/// Returns the number of a sequence, counted over all leading dimensions of the
/// queries, or nothing if all sequences have one length.
static Value numberSequence(OpBuilder &builder, Location loc, Value query,
                            ArrayRef<Value> sequence) {
  Value number;
  for (auto [dim, index] : llvm::enumerate(sequence)) {
    if (!number) {
      number = index;
      continue;
    }
    Value extent = arith::ConstantIndexOp::create(
        builder, loc, cast<RankedTensorType>(query.getType()).getDimSize(dim));
    number = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, number, extent),
        index);
  }
  return number;
}

/// Binds a run-time length. Keys and values beyond the length are never read.
void AttentionBuilder::bindLength(Value lengths) {
  // If each sequence has a length, getUnitDims gives each tile one sequence:
  // the offsets of the tile are the indices of the sequence.
  SmallVector<Value> sequence;
  for (int64_t dim = 0;
       dim < cast<RankedTensorType>(lengths.getType()).getRank(); ++dim)
    sequence.push_back(TileOffsetOp::create(rewriter, loc, dim));
  Value integer = tensor::ExtractOp::create(rewriter, loc, lengths, sequence);
  Value index = arith::IndexCastOp::create(rewriter, loc,
                                           rewriter.getIndexType(), integer);
  int64_t partitions = getNumPartitions();
  Value bound = arith::ConstantIndexOp::create(rewriter, loc,
                                               getMaxKeys() * partitions + 1);
  Value checked = CheckIndexOp::create(
      rewriter, loc, rewriter.getIndexType(), index, bound,
      numberSequence(rewriter, loc, query, sequence), /*stores=*/false);
  SmallVector<Value> operands = {checked};
  AffineExpr count = dim(0);
  if (hasPartitions) {
    // Partition `p` consists of every `partitions`-th key from key `p` on.
    operands.push_back(TileOffsetOp::create(rewriter, loc, rows - 1));
    count = (dim(0) - dim(1) + (partitions - 1)).floorDiv(partitions);
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
  length = hasPartitions ? OpFoldResult(checked) : extent;
  int64_t maxKeys = getMaxKeys();
  key = sliceKeys(rewriter, loc, key, queryRank - 2, maxKeys, extent);
  value = sliceKeys(rewriter, loc, value, queryRank - 2, maxKeys, extent);
  if (!mask)
    return;
  int64_t maskRank = cast<RankedTensorType>(mask.getType()).getRank();
  mask = sliceKeys(rewriter, loc, mask, maskRank - (hasPartitions ? 2 : 1),
                   maxKeys, extent);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// Maps to the row loops, followed by `last` if given.
AffineMap AttentionBuilder::getRowMap(AffineExpr last) {
  SmallVector<AffineExpr> exprs;
  for (int64_t row = 0; row < rows; ++row)
    exprs.push_back(dim(row));
  if (last)
    exprs.push_back(last);
  return getMap(exprs);
}

AffineMap AttentionBuilder::getQueryMap() {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < queryRank - 1; ++position)
    exprs.push_back(dim(position));
  exprs.push_back(getDepthLoop());
  return getMap(exprs);
}

/// Returns the map of keys or values. Several query heads read one key head.
AffineMap AttentionBuilder::getKeyMap(AffineExpr last) {
  SmallVector<AffineExpr> exprs;
  for (int64_t position = 0; position < queryRank - 2; ++position)
    exprs.push_back(dim(position));
  int64_t sharing =
      type.getDimSize(queryRank - 3) / keyType.getDimSize(queryRank - 3);
  if (sharing > 1)
    exprs.back() = exprs.back().floorDiv(sharing);
  exprs.push_back(getKeyLoop());
  if (hasPartitions)
    exprs.push_back(dim(rows - 1));
  exprs.push_back(last);
  return getMap(exprs);
}

/// Returns the map of the mask, which has the key before the partition.
AffineMap AttentionBuilder::getMaskMap() {
  SmallVector<int64_t> shape(type.getShape().take_front(queryRank - 1));
  shape.push_back(getMaxKeys());
  if (hasPartitions)
    shape.push_back(getNumPartitions());
  // The mask's shape before it was sliced to the run-time length: only a static
  // extent shows the broadcast.
  SmallVector<int64_t> ofMask(
      cast<RankedTensorType>(mask.getType()).getShape());
  llvm::replace(ofMask, ShapedType::kDynamic, getMaxKeys());
  AffineMap map = getBroadcastMap(rewriter.getContext(), ofMask, shape);
  SmallVector<AffineExpr> dims;
  for (int64_t position = 0; position <= rows; ++position)
    dims.push_back(dim(position));
  if (hasPartitions)
    std::swap(dims[rows - 1], dims[rows]);
  return map.replaceDimsAndSymbols(dims, {}, rows + 3, 0);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Emits `score` if the causal mask admits the key, otherwise minus infinity.
/// The last query is at the last valid key.
Value AttentionBuilder::emitPosition(OpBuilder &b, Location l,
                                     OnlineAttentionOp op, Value score) {
  Value queryIndex = op.getIndices()[queryRank - 2];
  Value keyIndex = op.getIndices()[rows];
  if (hasPartitions) {
    Value partitions = arith::ConstantIndexOp::create(b, l, getNumPartitions());
    Value partition = op.getIndices()[rows - 1];
    keyIndex = arith::AddIOp::create(
        b, l, arith::MulIOp::create(b, l, keyIndex, partitions), partition);
  }
  Value keys = getValueOrCreateConstantIndexOp(b, l, length);
  Value queries = arith::ConstantIndexOp::create(b, l, getNumQueries());
  // key + queries <= query + keys, in a form without negative numbers.
  Value left = arith::AddIOp::create(b, l, keyIndex, queries);
  Value right = arith::AddIOp::create(b, l, queryIndex, keys);
  Value admits =
      arith::CmpIOp::create(b, l, arith::CmpIPredicate::sle, left, right);
  return arith::SelectOp::create(b, l, admits, score,
                                 createLeastScore(b, l, element));
}

/// Emits the score of a query and a key: scaled and masked.
Value AttentionBuilder::emitScore(OpBuilder &b, Location l,
                                  OnlineAttentionOp op) {
  Value score = arith::MulFOp::create(b, l, op.getDotArgument(),
                                      createNumber(b, l, element, scale));
  Value masked = op.getMaskArgument();
  if (masked && masked.getType().isInteger(1))
    score = arith::SelectOp::create(b, l, masked, score,
                                    createLeastScore(b, l, element));
  else if (masked)
    score = arith::AddFOp::create(b, l, score,
                                  convertScalar(b, l, masked, element));
  return causal ? emitPosition(b, l, op, score) : score;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Creates an uninitialised tensor of the rows, with another dimension if
/// `last` is given.
Value AttentionBuilder::createOut(std::optional<OpFoldResult> last) {
  SmallVector<OpFoldResult> shape = getAsIndexOpFoldResult(
      rewriter.getContext(), type.getShape().drop_back());
  if (last)
    shape.push_back(*last);
  return createEmpty(rewriter, loc, shape, element);
}

OnlineAttentionOp AttentionBuilder::buildAttention() {
  SmallVector<AffineMap> maps = {getQueryMap(), getKeyMap(getDepthLoop()),
                                 getKeyMap(getColumnLoop())};
  if (mask)
    maps.push_back(getMaskMap());
  maps.append({getRowMap(getColumnLoop()), getRowMap(), getRowMap(),
               getRowMap(getKeyLoop())});
  Value outs[] = {createOut(rewriter.getIndexAttr(getNumColumns())),
                  createOut({}), createOut({}), createOut(extent)};
  auto op = OnlineAttentionOp::create(
      rewriter, loc, ValueRange(outs).getTypes(), query, key, value, mask,
      outs[0], outs[1], outs[2], outs[3], rewriter.getAffineMapArrayAttr(maps),
      /*causal=*/causal && !hasPartitions);
  OpBuilder::InsertionGuard guard(rewriter);
  Block *block = rewriter.createBlock(&op.getRegion());
  for (int64_t loop = 0; loop <= rows; ++loop)
    block->addArgument(rewriter.getIndexType(), loc);
  block->addArgument(element, loc);
  if (mask)
    block->addArgument(getElementTypeOrSelf(mask), loc);
  YieldOp::create(rewriter, loc, emitScore(rewriter, loc, op));
  return op;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value AttentionBuilder::elementwise(ValueRange inputs, ArrayRef<AffineMap> maps,
                                    ArrayRef<int64_t> shape, BodyFn body) {
  Value init = createEmpty(rewriter, loc, shape, element);
  return createElementwise(rewriter, loc, inputs, maps, init, body);
}

Value AttentionBuilder::buildInverse(Value sum) {
  return elementwise(sum, {rewriter.getMultiDimIdentityMap(rows)},
                     type.getShape().drop_back(),
                     [&](OpBuilder &b, Location l, ValueRange v) {
                       return emitInverse(b, l, v[0]);
                     });
}

Value AttentionBuilder::buildWhole() {
  OnlineAttentionOp op = buildAttention();
  // Rows are normalised after the product, which has fewer elements than the
  // exponentials.
  return elementwise(
      {buildInverse(op.getResult(2)), op.getResult(0)},
      {getMapWithout(rewriter.getContext(), rows + 1, {rows}),
       rewriter.getMultiDimIdentityMap(rows + 1)},
      cast<RankedTensorType>(op.getResult(0).getType()).getShape(),
      [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::MulFOp::create(b, l, v[1], v[0]);
      });
}

/// Emits `maximum + log(sum)`, or zero for a row without a valid key.
static Value emitLogSumExp(OpBuilder &b, Location l, Value maximum, Value sum) {
  Type element = sum.getType();
  Value zero = createNumber(b, l, element, 0);
  // A sum that is NaN gives NaN.
  Value isPresent =
      arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNE, sum, zero);
  Value logarithm = math::LogOp::create(b, l, sum);
  Value total = arith::AddFOp::create(b, l, maximum, logarithm);
  return arith::SelectOp::create(b, l, isPresent, total, zero);
}

Value AttentionBuilder::buildLogSumExp() {
  OnlineAttentionOp op = buildAttention();
  AffineMap row = getMapWithout(rewriter.getContext(), rows + 1, {rows});
  return elementwise({op.getResult(1), op.getResult(2)}, {row, row},
                     type.getShape(),
                     [](OpBuilder &b, Location l, ValueRange v) {
                       return emitLogSumExp(b, l, v[0], v[1]);
                     });
}

Value AttentionBuilder::buildPartitions() {
  OnlineAttentionOp op = buildAttention();
  Value result = createEmpty(rewriter, loc, type.getShape(), element);
  SmallVector<OpFoldResult> offsets(rows + 1, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(rows + 1, rewriter.getIndexAttr(1));
  auto insert = [&](Value part, int64_t column) {
    offsets[rows] = rewriter.getIndexAttr(column);
    result = tensor::InsertSliceOp::create(
        rewriter, loc, part, result, offsets,
        tensor::getMixedSizes(rewriter, loc, part), ones);
  };
  insert(op.getResult(0), 0);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  int64_t column = getNumColumns();
  for (Value scalar : {op.getResult(1), op.getResult(2)})
    insert(elementwise(
               scalar, {getMapWithout(rewriter.getContext(), rows + 1, {rows})},
               shape, [](OpBuilder &, Location, ValueRange v) { return v[0]; }),
           column++);
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

struct DecomposeAttentionLogSumExp : OpConversionPattern<AttentionLogSumExpOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AttentionLogSumExpOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, AttentionBuilder(rewriter, op, adaptor).buildLogSumExp());
    return success();
  }
};

struct DecomposePartialAttention : OpConversionPattern<PartialAttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PartialAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, AttentionBuilder(rewriter, op, adaptor).buildPartitions());
    return success();
  }
};
} // namespace

void ark::populateDecomposeAttention(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<DecomposeAttention, DecomposeAttentionLogSumExp,
               DecomposePartialAttention>(converter, patterns.getContext());
}
