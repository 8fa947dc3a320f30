//===- DecomposeQuantizedMatmul.cpp - Decompose quantized products --------===//

#include "lib/support/QuantizedProducts.h"
#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Creates the op `out[m, n] += x[m, k] * (w[n, k] - z[n, g]) * s[n, g]`, whose
/// loops are m, n and k. `matchQuantizedProduct` recognises the op.
class ProductBuilder {
public:
  ProductBuilder(QuantizedMatmulOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()) {
    bool hasOneGroup =
        cast<RankedTensorType>(op.getScales().getType()).getDimSize(1) == 1;
    product.group = hasOneGroup ? 0 : op.getGroup();
    product.hasFourBits = getElementTypeOrSelf(op.getWeights()).isInteger(8);
    product.hasZeros = static_cast<bool>(op.getZeros());
  }

  Value build(Value lhs, Value scales, Type element);

private:
  Value getNumber(OpBuilder &b, Value weight, Value zero);

  QuantizedMatmulOp op;
  OpBuilder &builder;
  Location loc;
  QuantizedProduct product;
};
} // namespace

/// Returns the dequantized weight, without its scale, as f32.
Value ProductBuilder::getNumber(OpBuilder &b, Value weight, Value zero) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (!product.hasFourBits)
    return convertScalar(b, loc, weight, f32);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  Value k = arith::IndexCastOp::create(
      b, loc, i32, linalg::IndexOp::create(b, loc, /*dim=*/2));
  Value isSecond = arith::AndIOp::create(b, loc, k, constant(1));
  Value shift = arith::ShLIOp::create(b, loc, isSecond, constant(2));
  Value byte = arith::ExtUIOp::create(b, loc, i32, weight);
  Value bits = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, byte, shift), constant(15));
  Value offset;
  if (zero)
    offset = arith::AndIOp::create(
        b, loc, arith::ExtUIOp::create(b, loc, i32, zero), constant(15));
  else
    offset = constant(kDefaultZero);
  return arith::SIToFPOp::create(b, loc, f32,
                                 arith::SubIOp::create(b, loc, bits, offset));
}

Value ProductBuilder::build(Value lhs, Value scales, Type element) {
  SmallVector<Value> inputs = {lhs, op.getWeights(), scales};
  if (op.getZeros())
    inputs.push_back(op.getZeros());
  auto type = cast<RankedTensorType>(op.getType());
  Value init = createFill(
      builder, loc, getAsIndexOpFoldResult(op.getContext(), type.getShape()),
      createNumber(builder, loc, element, 0));
  utils::IteratorType loops[] = {utils::IteratorType::parallel,
                                 utils::IteratorType::parallel,
                                 utils::IteratorType::reduction};
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, inputs, ValueRange{init},
             product.getMaps(op.getContext()), loops,
             [&](OpBuilder &b, Location l, ValueRange elements) {
               Value zero = op.getZeros() ? elements[3] : Value();
               Value x = convertScalar(b, l, elements[0], element);
               Value scale = convertScalar(b, l, elements[2], element);
               Value weight = arith::MulFOp::create(
                   b, l, getNumber(b, elements[1], zero), scale);
               Value scaled = arith::MulFOp::create(b, l, x, weight);
               linalg::YieldOp::create(
                   b, l,
                   arith::AddFOp::create(b, l, elements.back(), scaled)
                       .getResult());
             })
      .getResult(0);
}

namespace {
struct DecomposeQuantizedMatmul : OpConversionPattern<QuantizedMatmulOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(QuantizedMatmulOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value lhs = getContractionOperand(op.getLhs(), adaptor.getLhs());
    Value scales = getContractionOperand(op.getScales(), adaptor.getScales());
    rewriter.replaceOp(
        op,
        ProductBuilder(op, rewriter).build(lhs, scales, type.getElementType()));
    return success();
  }
};
} // namespace

void ark::populateDecomposeQuantizedMatmul(const TypeConverter &converter,
                                           RewritePatternSet &patterns) {
  patterns.add<DecomposeQuantizedMatmul>(converter, patterns.getContext());
}
