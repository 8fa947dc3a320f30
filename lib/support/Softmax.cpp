//===- Softmax.cpp - Scalars of a softmax ---------------------------------===//

#include "lib/support/Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createLeastScore(OpBuilder &builder, Location loc, Type type) {
  APFloat least = APFloat::getInf(cast<FloatType>(type).getFloatSemantics(),
                                  /*Negative=*/true);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, least));
}

Value ark::emitFinite(OpBuilder &builder, Location loc, Value maximum) {
  Type type = maximum.getType();
  Value isEmpty =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum,
                            createLeastScore(builder, loc, type));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return arith::SelectOp::create(builder, loc, isEmpty, zero, maximum);
}

Value ark::emitExponential(OpBuilder &builder, Location loc, Value score,
                           Value maximum) {
  Value difference = arith::SubFOp::create(builder, loc, score, maximum);
  return math::ExpOp::create(builder, loc, difference);
}
