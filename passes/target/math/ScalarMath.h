//===- ScalarMath.h - Formulas on f32 and i32 -------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATH_SCALARMATH_H
#define ARK_PASSES_TARGET_MATH_SCALARMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::ark {

/// Builds formulas on scalars, or on vectors of one shape.
struct ScalarMath {
  OpBuilder &builder;
  Location loc;
  /// The type of the formulas: f32 or a vector of f32.
  Type shape;

  Type like(Type element) {
    if (auto vector = dyn_cast<VectorType>(shape))
      return vector.clone(element);
    return element;
  }
  Type f32() { return like(builder.getF32Type()); }
  Type i32() { return like(builder.getI32Type()); }

  Value constant(Type type, Attribute value) {
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
  }
  Value number(double value) {
    return constant(f32(), builder.getF32FloatAttr(value));
  }
  /// Returns the float with these bits, for constants that must be exact.
  Value floatOfBits(uint32_t bits) {
    llvm::APFloat value(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits));
    return constant(f32(), FloatAttr::get(builder.getF32Type(), value));
  }
  Value integer(uint32_t value) {
    return constant(i32(), builder.getIntegerAttr(builder.getI32Type(),
                                                  llvm::APInt(32, value)));
  }

  template <typename Op, typename... Args>
  Value emit(Args... args) {
    return Op::create(builder, loc, args...);
  }
  Value add(Value a, Value b) { return emit<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return emit<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return emit<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return emit<arith::DivFOp>(a, b); }
  /// Divides with an error of up to two units in the last place.
  Value divideApproximately(Value a, Value b) {
    return emit<arith::DivFOp>(a, b, arith::FastMathFlags::afn);
  }
  Value fma(Value a, Value b, Value c) { return emit<math::FmaOp>(a, b, c); }
  Value abs(Value a) { return emit<math::AbsFOp>(a); }
  Value less(Value a, Value b) {
    return emit<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b);
  }
  Value greater(Value a, Value b) {
    return emit<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  }
  Value isNaN(Value a) {
    return emit<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a);
  }
  Value select(Value condition, Value a, Value b) {
    return emit<arith::SelectOp>(condition, a, b);
  }

  Value addI(Value a, Value b) { return emit<arith::AddIOp>(a, b); }
  Value subI(Value a, Value b) { return emit<arith::SubIOp>(a, b); }
  Value andI(Value a, Value b) { return emit<arith::AndIOp>(a, b); }
  Value orI(Value a, Value b) { return emit<arith::OrIOp>(a, b); }
  Value shl(Value a, unsigned bits) {
    return emit<arith::ShLIOp>(a, integer(bits));
  }
  Value shr(Value a, unsigned bits) {
    return emit<arith::ShRUIOp>(a, integer(bits));
  }
  /// Shifts right and keeps the sign.
  Value shrS(Value a, unsigned bits) {
    return emit<arith::ShRSIOp>(a, integer(bits));
  }
  Value atLeast(Value a, Value b) {
    return emit<arith::CmpIOp>(arith::CmpIPredicate::uge, a, b);
  }

  Value bits(Value a) { return emit<arith::BitcastOp>(i32(), a); }
  Value fromBits(Value a) { return emit<arith::BitcastOp>(f32(), a); }

  /// Evaluates a polynomial by Horner's rule, highest coefficient first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATH_SCALARMATH_H
