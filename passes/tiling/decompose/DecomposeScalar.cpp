//===- DecomposeScalar.cpp - Emit elementwise ops on scalars --------------===//
//
// Operands and results have compute types. The types of the op determine
// signedness.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Helpers that emit arithmetic on scalars of one type, written as formulas.
struct Scalars {
  OpBuilder &builder;
  Location loc;
  bool isUnsigned;

  Value number(Type type, double value) {
    return createNumber(builder, loc, type, value);
  }
  template <typename FloatOp, typename IntOp>
  Value pick(Value a, Value b) {
    if (isa<FloatType>(a.getType()))
      return FloatOp::create(builder, loc, a, b);
    return IntOp::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) {
    return pick<arith::AddFOp, arith::AddIOp>(a, b);
  }
  Value sub(Value a, Value b) {
    return pick<arith::SubFOp, arith::SubIOp>(a, b);
  }
  Value mul(Value a, Value b) {
    return pick<arith::MulFOp, arith::MulIOp>(a, b);
  }
  Value scale(double factor, Value a) {
    return mul(number(a.getType(), factor), a);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  template <typename Op>
  Value call(Value a) {
    return Op::create(builder, loc, a);
  }
  Value compare(ComparePredicate predicate, Value a, Value b);
  Value divide(Value a, Value b);
  Value divideApproximately(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b, arith::FastMathFlags::afn);
  }
  Value divideIntegers(Value a, Value b);
};
} // namespace

//===----------------------------------------------------------------------===//
// Comparison and division
//===----------------------------------------------------------------------===//

static arith::CmpFPredicate getFloatPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return arith::CmpFPredicate::OEQ;
  case ComparePredicate::NE:
    return arith::CmpFPredicate::UNE;
  case ComparePredicate::LT:
    return arith::CmpFPredicate::OLT;
  case ComparePredicate::LE:
    return arith::CmpFPredicate::OLE;
  case ComparePredicate::GT:
    return arith::CmpFPredicate::OGT;
  case ComparePredicate::GE:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all predicates are handled");
}

static arith::CmpIPredicate getIntPredicate(ComparePredicate predicate,
                                            bool isUnsigned) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return arith::CmpIPredicate::eq;
  case ComparePredicate::NE:
    return arith::CmpIPredicate::ne;
  case ComparePredicate::LT:
    return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case ComparePredicate::LE:
    return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case ComparePredicate::GT:
    return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  case ComparePredicate::GE:
    return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
  llvm_unreachable("all predicates are handled");
}

Value Scalars::compare(ComparePredicate predicate, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::CmpFOp::create(builder, loc, getFloatPredicate(predicate), a,
                                 b);
  return arith::CmpIOp::create(builder, loc,
                               getIntPredicate(predicate, isUnsigned), a, b);
}

/// Emits a division that truncates toward zero. Hardware traps on division by
/// zero and on an overflowing quotient; here, a division by zero yields zero,
/// and an overflowing quotient wraps.
Value Scalars::divideIntegers(Value a, Value b) {
  Value zero = number(a.getType(), 0), one = number(a.getType(), 1);
  Value byZero = compare(ComparePredicate::EQ, b, zero);
  if (isUnsigned) {
    Value safe = select(byZero, one, b);
    Value quotient = arith::DivUIOp::create(builder, loc, a, safe);
    return select(byZero, zero, quotient);
  }
  Value byMinusOne = compare(ComparePredicate::EQ, b, number(a.getType(), -1));
  Value unsafe = arith::OrIOp::create(builder, loc, byZero, byMinusOne);
  Value safe = select(unsafe, one, b);
  Value quotient = arith::DivSIOp::create(builder, loc, a, safe);
  quotient = select(byMinusOne, sub(zero, a), quotient);
  return select(byZero, zero, quotient);
}

Value Scalars::divide(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::DivFOp::create(builder, loc, a, b);
  return divideIntegers(a, b);
}

Value ark::emitExtremum(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                        bool isMaximum, bool isUnsigned) {
  // The float ops return NaN if either operand is NaN.
  if (isa<FloatType>(lhs.getType()))
    return isMaximum ? Value(arith::MaximumFOp::create(builder, loc, lhs, rhs))
                     : Value(arith::MinimumFOp::create(builder, loc, lhs, rhs));
  if (isUnsigned)
    return isMaximum ? Value(arith::MaxUIOp::create(builder, loc, lhs, rhs))
                     : Value(arith::MinUIOp::create(builder, loc, lhs, rhs));
  return isMaximum ? Value(arith::MaxSIOp::create(builder, loc, lhs, rhs))
                   : Value(arith::MinSIOp::create(builder, loc, lhs, rhs));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The reciprocal may be approximate: its error of two units in the last place
/// is as large as that of the exponential. An exact reciprocal takes 20
/// instructions and a branch on GPUs.
static Value emitSigmoid(Scalars s, Value x) {
  Value one = s.number(x.getType(), 1);
  Value power = s.call<math::ExpOp>(s.call<arith::NegFOp>(x));
  return s.divideApproximately(one, s.add(one, power));
}

/// Clamps x in a product x * f(x), where f(x) goes to zero faster than x goes
/// to minus infinity. The limit of the product is zero, but minus infinity
/// times zero would be NaN.
static Value boundFactor(Scalars s, Value x) {
  Value lowest = s.number(x.getType(), std::numeric_limits<float>::lowest());
  return s.select(s.compare(ComparePredicate::GT, x, lowest), x, lowest);
}

static Value emitSilu(Scalars s, Value x) {
  Value factor = boundFactor(s, x);
  return s.mul(factor, emitSigmoid(s, x));
}

static Value emitGelu(Scalars s, GeluApproximation approximation, Value x) {
  Value one = s.number(x.getType(), 1);
  Value half = s.scale(0.5, boundFactor(s, x));
  if (approximation == GeluApproximation::None) {
    // x * Phi(x), with the error function.
    Value erf = s.call<math::ErfOp>(s.scale(0.70710678118654752440, x));
    return s.mul(half, s.add(one, erf));
  }
  Value cube = s.mul(s.mul(x, x), x);
  // sqrt(2 / pi)
  Value inner =
      s.scale(0.79788456080286535588, s.add(x, s.scale(0.044715, cube)));
  return s.mul(half, s.add(one, s.call<math::TanhOp>(inner)));
}

static Value emitNeg(Scalars s, Value x) {
  if (isa<FloatType>(x.getType()))
    return s.call<arith::NegFOp>(x);
  return s.sub(s.number(x.getType(), 0), x);
}

static Value emitAbs(Scalars s, Value x) {
  if (isa<FloatType>(x.getType()))
    return s.call<math::AbsFOp>(x);
  // Integers use arith, because the lowerings for GPUs support math.absi for
  // floats only.
  if (s.isUnsigned)
    return x;
  return arith::MaxSIOp::create(s.builder, s.loc, x, emitNeg(s, x));
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Emits a conversion toward zero. Values out of range become the nearest value
/// in range, and NaN becomes zero.
static Value castFloatToInt(Scalars s, Value x, Type type, bool isUnsigned) {
  unsigned bits = type.getIntOrFloatBitWidth();
  double end = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  // Both bounds are powers of two or zero, so f32 represents them exactly.
  Value low = s.number(x.getType(), isUnsigned ? 0 : -end);
  Value high = s.number(x.getType(), end);
  Value notBelow = s.compare(ComparePredicate::GE, x, low);
  Value notAbove = s.compare(ComparePredicate::LT, x, high);
  Value fits = arith::AndIOp::create(s.builder, s.loc, notBelow, notAbove);
  Value safe = s.select(fits, x, s.number(x.getType(), 0));
  Value result =
      isUnsigned ? Value(arith::FPToUIOp::create(s.builder, s.loc, type, safe))
                 : Value(arith::FPToSIOp::create(s.builder, s.loc, type, safe));
  Value below = s.compare(ComparePredicate::LT, x, low);
  Value above = s.compare(ComparePredicate::GE, x, high);
  result = s.select(
      above, createExtreme(s.builder, s.loc, type, /*least=*/false, isUnsigned),
      result);
  return s.select(
      below, createExtreme(s.builder, s.loc, type, /*least=*/true, isUnsigned),
      result);
}

static Value castIntToInt(Scalars s, Value x, Type type, bool zeroExtends) {
  unsigned from = x.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (from > to)
    return arith::TruncIOp::create(s.builder, s.loc, type, x);
  return zeroExtends ? Value(arith::ExtUIOp::create(s.builder, s.loc, type, x))
                     : Value(arith::ExtSIOp::create(s.builder, s.loc, type, x));
}

/// Emits a cast. `from` and `to` are element types of the tensors; `x` has the
/// compute type.
static Value emitCast(Scalars s, Value x, Type from, Type to) {
  Type type = getComputeType(to);
  bool toFloat = isa<FloatType>(to), fromFloat = isa<FloatType>(from);
  bool zeroExtends = from.isUnsignedInteger() || from.isInteger(1);
  if (to.isInteger(1))
    return s.compare(ComparePredicate::NE, x, s.number(x.getType(), 0));
  if (!toFloat && fromFloat)
    return castFloatToInt(s, x, type, to.isUnsignedInteger());
  if (!toFloat)
    return castIntToInt(s, x, type, zeroExtends);
  if (!fromFloat)
    x = zeroExtends ? Value(arith::UIToFPOp::create(s.builder, s.loc, type, x))
                    : Value(arith::SIToFPOp::create(s.builder, s.loc, type, x));
  // The value is rounded to `to`, as the user requested, even if the body
  // continues in f32.
  return convertScalar(s.builder, s.loc, convertScalar(s.builder, s.loc, x, to),
                       type);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Emits a power by repeated squaring, with one step per bit of the exponent. A
/// negative power is zero, except for the bases one and minus one.
static Value emitIntegerPower(Scalars s, Value base, Value exponent) {
  Type type = base.getType();
  Value zero = s.number(type, 0), one = s.number(type, 1);
  unsigned bits = type.getIntOrFloatBitWidth() - (s.isUnsigned ? 0 : 1);
  Value rest = s.isUnsigned ? exponent : emitAbs(s, exponent);
  Value result = one, square = base;
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value isOdd =
        s.compare(ComparePredicate::NE,
                  arith::AndIOp::create(s.builder, s.loc, rest, one), zero);
    result = s.select(isOdd, s.mul(result, square), result);
    rest = arith::ShRUIOp::create(s.builder, s.loc, rest, one);
    square = s.mul(square, square);
  }
  if (s.isUnsigned)
    return result;
  Value isUnit = arith::OrIOp::create(
      s.builder, s.loc, s.compare(ComparePredicate::EQ, base, one),
      s.compare(ComparePredicate::EQ, base, s.number(type, -1)));
  Value isBelow = s.compare(ComparePredicate::LT, exponent, zero);
  return s.select(isBelow, s.select(isUnit, result, zero), result);
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

static Value toBits(Scalars s, Value x) {
  unsigned width = x.getType().getIntOrFloatBitWidth();
  return arith::BitcastOp::create(s.builder, s.loc,
                                  s.builder.getIntegerType(width), x);
}

/// Packs a packet. `x` has the compute type of `element`, which is the type of
/// the tensor.
static Value emitPackPacket(Scalars s, Value x, Type element) {
  Type word = s.builder.getI64Type();
  if (isa<FloatType>(element))
    x = toBits(s, convertScalar(s.builder, s.loc, x, element));
  Value data = arith::ExtUIOp::create(s.builder, s.loc, word, x);
  Value epoch = EpochOp::create(s.builder, s.loc, s.builder.getI32Type());
  Value flag = arith::ExtUIOp::create(s.builder, s.loc, word, epoch);
  Value high =
      arith::ShLIOp::create(s.builder, s.loc, flag, s.number(word, 32));
  return arith::OrIOp::create(s.builder, s.loc, high, data);
}

static Value emitUnpackPacket(Scalars s, Value packet, Type element) {
  Type bits = s.builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value data = arith::TruncIOp::create(s.builder, s.loc, bits, packet);
  if (!isa<FloatType>(element))
    return data;
  return convertScalar(
      s.builder, s.loc,
      arith::BitcastOp::create(s.builder, s.loc, element, data),
      getComputeType(element));
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Value ark::emitScalar(OpBuilder &builder, Operation *op, ValueRange operands) {
  Type element = getElement(op->getOperands().back());
  // Booleans compare as unsigned: false < true.
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  Scalars s{builder, op->getLoc(), isUnsigned};
  Value a = operands.front(), b = operands.back();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](AbsOp) { return emitAbs(s, a); })
      .Case([&](NegOp) { return emitNeg(s, a); })
      .Case([&](ExpOp) { return s.call<math::ExpOp>(a); })
      .Case([&](LogOp) { return s.call<math::LogOp>(a); })
      .Case([&](SqrtOp) { return s.call<math::SqrtOp>(a); })
      .Case([&](RsqrtOp) { return s.call<math::RsqrtOp>(a); })
      .Case([&](ReciprocalOp) { return s.divide(s.number(a.getType(), 1), a); })
      .Case([&](SinOp) { return s.call<math::SinOp>(a); })
      .Case([&](CosOp) { return s.call<math::CosOp>(a); })
      .Case([&](TanhOp) { return s.call<math::TanhOp>(a); })
      .Case([&](ErfOp) { return s.call<math::ErfOp>(a); })
      .Case([&](ReluOp) {
        return emitExtremum(builder, op->getLoc(), a, s.number(a.getType(), 0),
                            /*isMaximum=*/true, isUnsigned);
      })
      .Case([&](SigmoidOp) { return emitSigmoid(s, a); })
      .Case([&](SiluOp) { return emitSilu(s, a); })
      .Case([&](GeluOp gelu) { return emitGelu(s, gelu.getApproximate(), a); })
      .Case([&](LogicalNotOp) {
        return arith::XOrIOp::create(builder, op->getLoc(), a,
                                     s.number(a.getType(), 1));
      })
      .Case([&](CopyOp) { return a; })
      .Case(
          [&](CastOp cast) { return emitCast(s, a, element, cast.getDtype()); })
      .Case([&](PackPacketOp) { return emitPackPacket(s, a, element); })
      .Case([&](UnpackPacketOp unpack) {
        return emitUnpackPacket(s, a, unpack.getDtype());
      })
      .Case([&](AddOp) { return s.add(a, b); })
      .Case([&](SubOp) { return s.sub(a, b); })
      .Case([&](MulOp) { return s.mul(a, b); })
      .Case([&](DivOp) { return s.divide(a, b); })
      .Case([&](MaximumOp) {
        return emitExtremum(builder, op->getLoc(), a, b, true, isUnsigned);
      })
      .Case([&](MinimumOp) {
        return emitExtremum(builder, op->getLoc(), a, b, false, isUnsigned);
      })
      .Case([&](PowOp) -> Value {
        if (!isa<FloatType>(a.getType()))
          return emitIntegerPower(s, a, b);
        return math::PowFOp::create(builder, op->getLoc(), a, b);
      })
      .Case([&](LogicalAndOp) {
        return arith::AndIOp::create(builder, op->getLoc(), a, b);
      })
      .Case([&](LogicalOrOp) {
        return arith::OrIOp::create(builder, op->getLoc(), a, b);
      })
      .Case([&](CompareOp compare) {
        return s.compare(compare.getPredicate(), a, b);
      })
      .Case([&](WhereOp) { return s.select(a, operands[1], b); })
      .Case([&](PhiloxOp) {
        return emitPhilox(builder, op->getLoc(), a, operands[1], b);
      });
}
