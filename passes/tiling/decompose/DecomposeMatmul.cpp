//===- DecomposeMatmul.cpp - Decompose matmuls ----------------------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the map with which one operand of a matmul is read in the space
/// (batch..., m, n, k).
static AffineMap getOperandMap(MLIRContext *context, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> resultShape, AffineExpr row,
                               AffineExpr column) {
  int64_t rank = resultShape.size() + 1;
  AffineMap leading =
      getBroadcastMap(context, shape.drop_back(2), resultShape.drop_back(2));
  SmallVector<AffineExpr> exprs(leading.getResults());
  exprs.push_back(row);
  exprs.push_back(column);
  return AffineMap::get(rank, 0, exprs, context);
}

namespace {
struct DecomposeMatmul : OpConversionPattern<MatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = rewriter.getContext();
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    int64_t rank = type.getRank();
    AffineExpr m = rewriter.getAffineDimExpr(rank - 2);
    AffineExpr n = rewriter.getAffineDimExpr(rank - 1);
    AffineExpr k = rewriter.getAffineDimExpr(rank);
    bool transposeLhs = op.getTransposeInput();
    bool transposeRhs = op.getTransposeOther();

    Value lhs = getContractionOperand(op.getLhs(), adaptor.getLhs());
    Value rhs = getContractionOperand(op.getRhs(), adaptor.getRhs());
    auto shapeOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape();
    };
    AffineMap maps[] = {
        getOperandMap(context, shapeOf(lhs), type.getShape(),
                      transposeLhs ? k : m, transposeLhs ? m : k),
        getOperandMap(context, shapeOf(rhs), type.getShape(),
                      transposeRhs ? n : k, transposeRhs ? k : n),
        getMapWithout(context, rank + 1, {rank})};
    rewriter.replaceOp(
        op, createContraction(rewriter, loc, lhs, rhs, maps,
                              getAsIndexOpFoldResult(context, type.getShape()),
                              type.getElementType()));
    return success();
  }
};
} // namespace

void ark::populateDecomposeMatmul(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeMatmul>(converter, patterns.getContext());
}
