//===- DecomposeRope.cpp - Decompose rotary position embeddings -----------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns true if only the group's yield uses the result of the op.
static bool isReturned(Operation *op) {
  return llvm::all_of(op->getUsers(), llvm::IsaPred<YieldOp>);
}

namespace {
/// Decomposes a rotation. The two elements of every pair are slices of the
/// operand; a pair (a, b) becomes (a cos - b sin, b cos + a sin).
struct DecomposeRope : OpConversionPattern<RopeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RopeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    // An operand from memory is read in its memory type, and a result for
    // memory is written in its memory type; the bodies of the ops convert.
    Value x = isa<BlockArgument>(op.getOperand()) ? op.getOperand()
                                                  : adaptor.getOperand();
    auto type = cast<RankedTensorType>(
        isReturned(op) ? op.getType()
                       : getTypeConverter()->convertType(op.getType()));
    int64_t rank = type.getRank(), half = type.getShape().back() / 2;
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
    sizes.back() = rewriter.getIndexAttr(half);
    SmallVector<OpFoldResult> firstOffsets(rank, rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> secondOffsets = firstOffsets;
    SmallVector<OpFoldResult> strides(rank, rewriter.getIndexAttr(1));
    // With a single pair, both layouts are equal. A stride of two along an
    // extent of one has no meaning, and MLIR does not recognise the dropped
    // dimensions of such a subview.
    bool alternates = op.getInterleaved() && half > 1;
    secondOffsets.back() = rewriter.getIndexAttr(alternates ? 1 : half);
    strides.back() = rewriter.getIndexAttr(alternates ? 2 : 1);

    auto slice = [&](Value of, ArrayRef<OpFoldResult> offsets) -> Value {
      return tensor::ExtractSliceOp::create(rewriter, loc, of, offsets, sizes,
                                            strides);
    };
    Value first = slice(x, firstOffsets), second = slice(x, secondOffsets);
    auto halfType = cast<RankedTensorType>(first.getType());
    AffineMap pairs = rewriter.getMultiDimIdentityMap(rank);
    AffineMap angles = getBroadcastMap(
        rewriter.getContext(),
        cast<RankedTensorType>(adaptor.getCos().getType()).getShape(),
        halfType.getShape());
    auto rotate = [&](Value a, Value b, Value into, bool isFirst) {
      return createElementwise(
          rewriter, loc, {a, b, adaptor.getCos(), adaptor.getSin()},
          {pairs, pairs, angles, angles}, into,
          [&](OpBuilder &b, Location l, ValueRange v) -> Value {
            Type compute = v[2].getType();
            Value straight = arith::MulFOp::create(
                b, l, convertScalar(b, l, v[0], compute), v[2]);
            Value crossed = arith::MulFOp::create(
                b, l, convertScalar(b, l, v[1], compute), v[3]);
            Value sum =
                isFirst ? Value(arith::SubFOp::create(b, l, straight, crossed))
                        : Value(arith::AddFOp::create(b, l, straight, crossed));
            return convertScalar(b, l, sum, type.getElementType());
          });
    };
    // Each half is computed in its part of the result.
    Value result =
        createEmpty(rewriter, loc, type.getShape(), type.getElementType());
    auto insert = [&](Value a, Value b, ArrayRef<OpFoldResult> offsets,
                      bool isFirst) {
      Value rotated = rotate(a, b, slice(result, offsets), isFirst);
      result = tensor::InsertSliceOp::create(rewriter, loc, rotated, result,
                                             offsets, sizes, strides);
    };
    insert(first, second, firstOffsets, /*isFirst=*/true);
    insert(second, first, secondOffsets, /*isFirst=*/false);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void ark::populateDecomposeRope(const TypeConverter &converter,
                                RewritePatternSet &patterns) {
  patterns.add<DecomposeRope>(converter, patterns.getContext());
}
