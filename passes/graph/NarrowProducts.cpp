//===- NarrowProducts.cpp - Where products with 8-bit floats widen them ---===//

#include "passes/graph/NarrowProducts.h"

#include "dialects/ark/ArkInference.h"
#include "lib/support/Streaming.h"
#include "passes/graph/GraphUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Rows of the left side that meet each element of the right side.
static int64_t getRowsOfRightSide(MatmulOp op) {
  ArrayRef<int64_t> shape = getTensorType(op).getShape();
  ArrayRef<int64_t> rhs = getTensorType(op.getRhs()).getShape();
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  int64_t batches = ShapedType::getNumElements(rhs.drop_back(2));
  return batches == 0 ? rows : rows / batches;
}

namespace {
/// Weights of 8 bits are read as they are by products of a few rows, which
/// take as long as their weights take.
struct CastIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getRhs().getDefiningOp<CastOp>();
    if (!cast || getRowsOfRightSide(op) > kStreamingRows ||
        cast->getDiscardableAttr(ArkDialect::kPlanAttr))
      return failure();
    Type from = getTensorType(cast.getOperand()).getElementType();
    // To a wider float they are cast exactly.
    auto to = dyn_cast<FloatType>(getTensorType(cast).getElementType());
    if (!isNarrowFloat(from) || !to || isNarrowFloat(to) ||
        getTensorType(op.getLhs()).getElementType() != to)
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getRhsMutable().assign(cast.getOperand()); });
    return success();
  }
};

/// Of more rows, both sides have one type, which units for matrices multiply.
struct CastOutOfMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (getRowsOfRightSide(op) <= kStreamingRows)
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      RankedTensorType type = getTensorType(operand.get());
      Type wide = getTensorType(op->getOperand(1 - operand.getOperandNumber()))
                      .getElementType();
      if (!isNarrowFloat(type.getElementType()) || isNarrowFloat(wide))
        continue;
      Value all = CastOp::create(rewriter, op.getLoc(), type.clone(wide),
                                 operand.get(), wide);
      rewriter.modifyOpInPlace(op, [&] { operand.set(all); });
      return success();
    }
    return failure();
  }
};
} // namespace

void mlir::ark::populateNarrowProductPatterns(RewritePatternSet &patterns) {
  patterns.add<CastIntoMatmul, CastOutOfMatmul>(patterns.getContext());
}
