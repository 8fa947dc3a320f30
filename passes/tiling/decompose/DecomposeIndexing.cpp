//===- DecomposeIndexing.cpp - Decompose gather, windows, update, concat --===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Embedding and gather
//===----------------------------------------------------------------------===//

/// Checks every index once, before the op that uses it for a whole row.
static Value buildCheckedIndices(OpBuilder &builder, Location loc,
                                 Value indices, int64_t bound) {
  RankedTensorType type = getType(indices);
  Value init =
      createEmpty(builder, loc, type.getShape(), builder.getIndexType());
  return createElementwise(
      builder, loc, indices, {builder.getMultiDimIdentityMap(type.getRank())},
      init, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value index = arith::IndexCastOp::create(b, l, b.getIndexType(), v[0]);
        Value limit = arith::ConstantIndexOp::create(b, l, bound);
        return CheckIndexOp::create(b, l, index, limit);
      });
}

/// Gathers elements of `source` at indices along `axis`. The dimensions of the
/// indices replace the axis in the result.
static Value buildGather(OpBuilder &builder, Location loc, Value source,
                         Value indices, int64_t axis, RankedTensorType type) {
  Value checked = buildCheckedIndices(builder, loc, indices,
                                      getType(source).getDimSize(axis));
  int64_t indexRank = getType(indices).getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < indexRank; ++dim)
    exprs.push_back(builder.getAffineDimExpr(axis + dim));
  AffineMap map =
      AffineMap::get(type.getRank(), 0, exprs, builder.getContext());
  Value init =
      createEmpty(builder, loc, type.getShape(), type.getElementType());
  return createElementwise(
      builder, loc, checked, {map}, init,
      [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        SmallVector<Value> position;
        for (int64_t dim = 0, rank = getType(source).getRank(); dim < rank;
             ++dim) {
          if (dim == axis)
            position.push_back(v[0]);
          else
            position.push_back(linalg::IndexOp::create(
                b, l, dim < axis ? dim : dim + indexRank - 1));
        }
        Value element = tensor::ExtractOp::create(b, l, source, position);
        return convertScalar(b, l, element, type.getElementType());
      });
}

namespace {
struct DecomposeEmbedding : OpConversionPattern<EmbeddingOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EmbeddingOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Reads the table in its memory type, because converting the whole table
    // would be far too expensive.
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOp(op, buildGather(rewriter, op.getLoc(), op.getWeight(),
                                       adaptor.getIndices(), 0, type));
    return success();
  }
};

struct DecomposeGather : OpConversionPattern<GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOp(op,
                       buildGather(rewriter, op.getLoc(), op.getSource(),
                                   adaptor.getIndices(), op.getAxis(), type));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// Decomposes windows into a copy whose subscript of the operand is the sum of
/// a window's position and an element's position in the window.
struct DecomposeWindows : OpConversionPattern<WindowsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WindowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // Nothing is computed, so no type is converted.
    auto type = cast<RankedTensorType>(op.getType());
    int64_t spatial = op.getSizes().size();
    int64_t lead = type.getRank() - 2 * spatial;
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < lead; ++dim)
      exprs.push_back(rewriter.getAffineDimExpr(dim));
    for (auto [dim, stride, dilation] :
         llvm::enumerate(op.getStrides(), op.getDilations()))
      exprs.push_back(rewriter.getAffineDimExpr(lead + spatial + dim) * stride +
                      rewriter.getAffineDimExpr(lead + dim) * dilation);
    AffineMap map =
        AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
    Value init = createEmpty(rewriter, op.getLoc(), type.getShape(),
                             type.getElementType());
    rewriter.replaceOp(
        op, createElementwise(
                rewriter, op.getLoc(), op.getOperand(), {map}, init,
                [](OpBuilder &, Location, ValueRange v) { return v[0]; }));
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Update and concat
//===----------------------------------------------------------------------===//

struct DecomposeUpdate : OpConversionPattern<UpdateOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(UpdateOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    // State and value keep their memory types. The state stays in place; the
    // conversion framework converts the value.
    RankedTensorType stateType = getType(op.getState());
    RankedTensorType valueType = getType(op.getValue());
    // An insertion that covers the whole state would fold to the value, which
    // would lose the information that the state is written. A copy does not
    // fold.
    if (op.getOffsets().empty() && valueType == stateType) {
      rewriter.replaceOpWithNewOp<linalg::CopyOp>(op, op.getValue(),
                                                  op.getState());
      return success();
    }
    ValueRange scalars = adaptor.getOffsets();
    SmallVector<OpFoldResult> offsets;
    for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
      if (!ShapedType::isDynamic(offset)) {
        offsets.push_back(rewriter.getIndexAttr(offset));
        continue;
      }
      // If each sequence has an offset, getUnitDims gives each tile one
      // sequence: the offset of the tile is the number of the sequence.
      Value sequence = getType(scalars.front()).getRank() > 0
                           ? TileOffsetOp::create(rewriter, loc, 0).getResult()
                           : Value();
      Value integer = tensor::ExtractOp::create(rewriter, loc, scalars.front(),
                                                sequence ? ValueRange(sequence)
                                                         : ValueRange());
      scalars = scalars.drop_front();
      Value index = arith::IndexCastOp::create(
          rewriter, loc, rewriter.getIndexType(), integer);
      int64_t extent =
          dim == 0 && op.hasRowOffsets() ? 1 : valueType.getDimSize(dim);
      Value bound = arith::ConstantIndexOp::create(
          rewriter, loc, stateType.getDimSize(dim) - extent + 1);
      offsets.push_back(CheckIndexOp::create(rewriter, loc,
                                             rewriter.getIndexType(), index,
                                             bound, sequence, /*stores=*/true)
                            .getResult());
    }
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(rewriter.getContext(), valueType.getShape());
    SmallVector<OpFoldResult> ones(sizes.size(), rewriter.getIndexAttr(1));
    Value result = tensor::InsertSliceOp::create(
        rewriter, loc, op.getValue(), op.getState(), offsets, sizes, ones);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Decomposes a concatenation into adjacent insertions.
struct DecomposeConcat : OpConversionPattern<ConcatOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ConcatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    // Nothing is computed, so no type is converted.
    auto type = cast<RankedTensorType>(op.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> ones(type.getRank(), rewriter.getIndexAttr(1));
    Value result =
        createEmpty(rewriter, loc, type.getShape(), type.getElementType());
    int64_t position = 0;
    for (Value input : op.getInputs()) {
      offsets[op.getAxis()] = rewriter.getIndexAttr(position);
      result = tensor::InsertSliceOp::create(
          rewriter, loc, input, result, offsets,
          getAsIndexOpFoldResult(rewriter.getContext(),
                                 getType(input).getShape()),
          ones);
      position += getType(input).getDimSize(op.getAxis());
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void ark::populateDecomposeIndexing(const TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<DecomposeConcat, DecomposeEmbedding, DecomposeGather,
               DecomposeUpdate, DecomposeWindows>(converter,
                                                  patterns.getContext());
}
