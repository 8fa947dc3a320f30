//===- NarrowProducts.cpp - Casts of the operands of matmuls --------------===//

#include "passes/graph/NarrowProducts.h"

#include "dialects/ark/ArkInference.h"
#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/Streaming.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the number of left rows that each element of the right operand is
/// multiplied by.
static int64_t getRowsOfRightSide(MatmulOp op) {
  ArrayRef<int64_t> shape = getTensorType(op).getShape();
  ArrayRef<int64_t> rhs = getTensorType(op.getRhs()).getShape();
  int64_t rows = ShapedType::getNumElements(shape.drop_back());
  int64_t batches = ShapedType::getNumElements(rhs.drop_back(2));
  return batches == 0 ? rows : rows / batches;
}

/// Returns true if the matrix units of a program's target multiply i8.
static bool multipliesInt8(MatmulOp op) {
  TargetAttr target = findTarget(op);
  return target && target.isGpu() &&
         target.getGpu().findRegisterMma(MmaOperands::Int8);
}

namespace {
/// Folds a cast of fp8 weights into a matmul with few rows, which is limited by
/// the time to read its weights.
struct CastIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getRhs().getDefiningOp<CastOp>();
    if (!cast || getRowsOfRightSide(op) > kStreamingRows ||
        cast->getDiscardableAttr(ArkDialect::kPlanAttr))
      return failure();
    Type from = getTensorType(cast.getOperand()).getElementType();
    // A cast of fp8 to a wider float is exact.
    auto to = dyn_cast<FloatType>(getTensorType(cast).getElementType());
    if (!isNarrowFloat(from) || !to || isNarrowFloat(to) ||
        getTensorType(op.getLhs()).getElementType() != to)
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getRhsMutable().assign(cast.getOperand()); });
    return success();
  }
};

/// Casts fp8 operands of a matmul with more rows to a common type that matrix
/// units support.
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

/// Folds casts of 16-bit floats to f32 into a matmul on a target with matrix
/// units, which multiply 16-bit floats exactly and add the products in f32.
struct WideningIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    TargetAttr target = findTarget(op);
    if (!target || !target.isGpu() || target.getGpu().getMma().empty())
      return failure();
    SmallVector<Value, 2> operands;
    for (Value operand : op->getOperands()) {
      auto cast = operand.getDefiningOp<CastOp>();
      if (!cast || !getTensorType(cast).getElementType().isF32() ||
          cast->getDiscardableAttr(ArkDialect::kPlanAttr))
        return failure();
      operands.push_back(cast.getOperand());
    }
    Type left = getTensorType(operands[0]).getElementType();
    Type right = getTensorType(operands[1]).getElementType();
    if (left != right || !(left.isBF16() || left.isF16()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    return success();
  }
};

/// Folds casts of i8 to i32 into a matmul on a target whose matrix units
/// multiply i8 and add the products in i32.
struct IntegersIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (!multipliesInt8(op))
      return failure();
    Attribute plan = op->getDiscardableAttr(ArkDialect::kPlanAttr);
    SmallVector<Value, 2> operands;
    for (Value operand : op->getOperands()) {
      auto cast = operand.getDefiningOp<CastOp>();
      if (!cast || !getTensorType(cast).getElementType().isSignlessInteger(32))
        return failure();
      Attribute own = cast->getDiscardableAttr(ArkDialect::kPlanAttr);
      if ((own && own != plan) || !getTensorType(cast.getOperand())
                                       .getElementType()
                                       .isSignlessInteger(8))
        return failure();
      operands.push_back(cast.getOperand());
    }
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    return success();
  }
};

/// Adds the products of a matmul of i8 in i32 on such a target, and casts the
/// sums to i8. Both sums have the same lowest 8 bits.
struct SumsOutOfMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = getTensorType(op);
    if (!type.getElementType().isSignlessInteger(8) || !multipliesInt8(op))
      return failure();
    rewriter.setInsertionPointAfter(op);
    auto cast =
        CastOp::create(rewriter, op.getLoc(), type, op, type.getElementType());
    if (Attribute plan = op->getDiscardableAttr(ArkDialect::kPlanAttr))
      cast->setDiscardableAttr(ArkDialect::kPlanAttr, plan);
    rewriter.replaceAllUsesExcept(op, cast, cast);
    rewriter.modifyOpInPlace(
        op, [&] { op.getResult().setType(type.clone(rewriter.getI32Type())); });
    return success();
  }
};
} // namespace

void mlir::ark::populateNarrowProductPatterns(RewritePatternSet &patterns) {
  patterns.add<CastIntoMatmul, CastOutOfMatmul, WideningIntoMatmul,
               IntegersIntoMatmul, SumsOutOfMatmul>(patterns.getContext());
}
