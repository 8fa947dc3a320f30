//===- DecomposeMatmul.cpp - Matrix products ------------------------------===//

#include "passes/tiling/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// How one side of a matmul is read in the space (batch..., m, n, k).
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

    Value lhs = getOperand(op.getLhs(), adaptor.getLhs());
    Value rhs = getOperand(op.getRhs(), adaptor.getRhs());
    auto shapeOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape();
    };
    AffineMap maps[] = {
        getOperandMap(context, shapeOf(lhs), type.getShape(),
                      transposeLhs ? k : m, transposeLhs ? m : k),
        getOperandMap(context, shapeOf(rhs), type.getShape(),
                      transposeRhs ? n : k, transposeRhs ? k : n),
        getMapWithout(context, rank + 1, {rank})};
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators.push_back(utils::IteratorType::reduction);

    Value zero = createNumber(rewriter, loc, type.getElementType(), 0);
    Value init = createFill(
        rewriter, loc, getAsIndexOpFoldResult(context, type.getShape()), zero);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, TypeRange{type}, ValueRange{lhs, rhs}, ValueRange{init},
        maps, iterators, [&](OpBuilder &b, Location l, ValueRange elements) {
          Type element = type.getElementType();
          Value a = convertScalar(b, l, elements[0], element);
          Value c = convertScalar(b, l, elements[1], element);
          Value sum;
          if (isa<FloatType>(element))
            sum = arith::AddFOp::create(b, l, elements[2],
                                        arith::MulFOp::create(b, l, a, c));
          else
            sum = arith::AddIOp::create(b, l, elements[2],
                                        arith::MulIOp::create(b, l, a, c));
          linalg::YieldOp::create(b, l, sum);
        });
    rewriter.replaceOp(op, generic.getResult(0));
    return success();
  }

  /// Narrow floats that come from memory are read as they are; the product
  /// converts them, in registers.
  static Value getOperand(Value original, Value converted) {
    bool isFloat = isa<FloatType>(
        cast<RankedTensorType>(original.getType()).getElementType());
    return isFloat && isa<BlockArgument>(original) ? original : converted;
  }
};
} // namespace

void ark::populateDecomposeMatmul(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeMatmul>(converter, patterns.getContext());
}
