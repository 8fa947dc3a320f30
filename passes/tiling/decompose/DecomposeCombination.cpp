//===- DecomposeCombination.cpp - Combine partitions of an attention ------===//

#include "passes/tiling/decompose/Decompose.h"

#include "lib/support/Softmax.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Slices columns of a combination's operand, for all partitions.
static Value sliceColumns(OpBuilder &builder, Location loc, Value tensor,
                          int64_t column, int64_t columns) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  offsets.back() = builder.getIndexAttr(column);
  sizes.back() = builder.getIndexAttr(columns);
  return tensor::ExtractSliceOp::create(builder, loc, tensor, offsets, sizes,
                                        ones);
}

/// Builds the combination of all partitions. The weight of a partition rescales
/// its exponentials to the maximum score of all partitions. A partition without
/// valid keys has weight zero.
static Value buildCombination(OpBuilder &builder, Location loc, Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  MLIRContext *context = builder.getContext();
  Type element = type.getElementType();
  int64_t rank = type.getRank(), columns = type.getShape().back() - 2;
  Value accumulators = sliceColumns(builder, loc, operand, 0, columns);
  Value maxima = sliceColumns(builder, loc, operand, columns, 1);
  Value totals = sliceColumns(builder, loc, operand, columns + 1, 1);

  // Shapes with one column: (row..., 1) and (row..., partition, 1).
  SmallVector<int64_t> one(type.getShape().drop_back(2)), all(one);
  SmallVector<int64_t> weightsShape(type.getShape());
  one.push_back(1);
  all.push_back(columns);
  weightsShape.back() = 1;
  AffineMap identity = builder.getMultiDimIdentityMap(rank - 1);
  Value largest = createReduction(
      builder, loc, maxima, {rank - 2},
      createExtreme(builder, loc, element, /*least=*/true, false),
      [](OpBuilder &b, Location l, ValueRange v) {
        return emitExtremum(b, l, v[0], v[1], /*isMaximum=*/true, false);
      });
  largest = createElementwise(builder, loc, largest, {identity},
                              createEmpty(builder, loc, one, element),
                              [](OpBuilder &b, Location l, ValueRange v) {
                                return emitFinite(b, l, v[0]);
                              });
  Value weights =
      createElementwise(builder, loc, {maxima, largest},
                        {builder.getMultiDimIdentityMap(rank),
                         getMapWithout(context, rank, {rank - 2})},
                        createEmpty(builder, loc, weightsShape, element),
                        [](OpBuilder &b, Location l, ValueRange v) {
                          return emitExponential(b, l, v[0], v[1]);
                        });

  // Sums over the partitions in the space (row..., column, partition).
  auto weigh = [&](Value partials, ArrayRef<int64_t> shape) {
    SmallVector<AffineExpr> weight, partial, sum;
    for (int64_t position = 0; position < rank - 2; ++position)
      sum.push_back(builder.getAffineDimExpr(position));
    weight = partial = sum;
    AffineExpr column = builder.getAffineDimExpr(rank - 2),
               partition = builder.getAffineDimExpr(rank - 1);
    weight.append({partition, builder.getAffineConstantExpr(0)});
    partial.append({partition, column});
    sum.push_back(column);
    AffineMap maps[] = {AffineMap::get(rank, 0, weight, context),
                        AffineMap::get(rank, 0, partial, context),
                        AffineMap::get(rank, 0, sum, context)};
    return createContraction(builder, loc, weights, partials, maps,
                             getAsIndexOpFoldResult(context, shape), element);
  };
  Value inverse =
      createElementwise(builder, loc, weigh(totals, one), {identity},
                        createEmpty(builder, loc, one, element),
                        [](OpBuilder &b, Location l, ValueRange v) {
                          return emitInverse(b, l, v[0]);
                        });
  return createElementwise(builder, loc, {inverse, weigh(accumulators, all)},
                           {getBroadcastMap(context, one, all), identity},
                           createEmpty(builder, loc, all, element),
                           [](OpBuilder &b, Location l, ValueRange v) -> Value {
                             return arith::MulFOp::create(b, l, v[1], v[0]);
                           });
}

namespace {
struct DecomposeCombineAttention : OpConversionPattern<CombineAttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(CombineAttentionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, buildCombination(rewriter, op.getLoc(), adaptor.getOperand()));
    return success();
  }
};
} // namespace

void ark::populateDecomposeCombination(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<DecomposeCombineAttention>(converter, patterns.getContext());
}
