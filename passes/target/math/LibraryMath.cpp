//===- LibraryMath.cpp - Math functions without a library -----------------===//

#include "passes/target/math/LibraryMath.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Builds formulas on f64 and i64 with the shape of f32 formulas.
struct WideMath : ScalarMath {
  explicit WideMath(ScalarMath m) : ScalarMath(m) {}

  Type f64() { return like(builder.getF64Type()); }
  Type i64() { return like(builder.getI64Type()); }
  Value wide(double value) {
    return constant(f64(), builder.getF64FloatAttr(value));
  }
  Value wideInteger(int64_t value) {
    return constant(i64(), builder.getI64IntegerAttr(value));
  }
  Value widen(Value a) { return emit<arith::ExtFOp>(f64(), a); }
  Value narrow(Value a) { return emit<arith::TruncFOp>(f32(), a); }
  Value round(Value a) { return emit<math::RoundEvenOp>(a); }
  Value negate(Value a) { return emit<arith::NegFOp>(a); }
  Value wideBits(Value a) { return emit<arith::BitcastOp>(i64(), a); }
  Value fromWideBits(Value a) { return emit<arith::BitcastOp>(f64(), a); }

  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return emit<arith::CmpFOp>(predicate, a, b);
  }
  Value equal(Value a, Value b) {
    return compare(arith::CmpFPredicate::OEQ, a, b);
  }
  Value isIntegral(Value a) { return equal(round(a), a); }

  /// Returns the low bits of an integral number. A conversion instruction would
  /// be undefined for NaN.
  Value toBits(Value a) {
    Value magic = wide(6755399441055744); // 1.5 * 2^52
    return wideBits(add(a, magic));
  }
  Value widePolynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = wide(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, wide(coefficient));
    return sum;
  }
};

/// An angle as a number of quarter turns and a remainder in radians.
struct Reduced {
  Value quarters, rest;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

/// 2 / pi in limbs of 24 bits from the binary point on, enough limbs for the
/// largest f32. A product of a limb and an f32 is exact.
static constexpr int64_t kTwoOverPi[] = {0xA2F983, 0x6E4E44, 0x1529FC,
                                         0x2757D1, 0xF534DD, 0xC0DB62,
                                         0x95993C, 0x439041};

/// Reduces an angle. Whole turns are removed from every product, and whole
/// quarter turns from the sum, both exactly. The sum hence stays below a half,
/// and the remainder is accurate to the last bit even close to multiples of pi
/// / 2.
static Reduced reduce(WideMath m, Value x) {
  Value rest = m.wide(0), quarters = m.wide(0);
  double scale = 1;
  for (int64_t limb : kTwoOverPi) {
    scale /= 1 << 24;
    Value product = m.mul(x, m.wide(limb * scale));
    Value turns = m.round(m.mul(product, m.wide(0.25)));
    product = m.fma(turns, m.wide(-4), product);
    rest = m.add(rest, product);
    Value whole = m.round(rest);
    rest = m.sub(rest, whole);
    quarters = m.add(quarters, whole);
  }
  return {quarters, m.mul(rest, m.wide(1.5707963267948966))};
}

/// Computes the sine if `ahead` is zero, and the cosine, a quarter turn ahead,
/// if it is one.
static Value emitSineOrCosine(ScalarMath narrow, Value x, int64_t ahead) {
  WideMath m(narrow);
  auto [quarters, r] = reduce(m, m.widen(x));
  Value square = m.mul(r, r);
  Value sine = m.widePolynomial(
      square, {-1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6});
  sine = m.fma(m.mul(sine, square), r, r);
  Value cosine = m.widePolynomial(
      square, {-1. / 3628800, 1. / 40320, -1. / 720, 1. / 24, -1. / 2, 1});
  Value number = m.addI(m.toBits(quarters), m.wideInteger(ahead));
  auto hasBit = [&](int64_t bit) -> Value {
    return m.emit<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                 m.andI(number, m.wideInteger(bit)),
                                 m.wideInteger(0));
  };
  Value wave = m.select(hasBit(1), cosine, sine);
  return m.narrow(m.select(hasBit(2), m.negate(wave), wave));
}

Value ark::emitSin(ScalarMath m, Value x) {
  // A sum loses the sign of zero.
  Value isZero =
      m.emit<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, m.number(0));
  return m.select(isZero, x, emitSineOrCosine(m, x, 0));
}

Value ark::emitCos(ScalarMath m, Value x) { return emitSineOrCosine(m, x, 1); }

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// Computes log2 x for x >= 0, where x = 2^e (1 + f) / (1 - f) and |f| <= 1/5.
static Value emitLog2(WideMath m, Value x) {
  Value bits = m.wideBits(x);
  Value twoThirds = m.wideInteger(0x3fe5555555555555);
  Value size = m.wideInteger(52);
  Value exponent = m.emit<arith::ShRSIOp>(m.subI(bits, twoThirds), size);
  Value mantissa =
      m.fromWideBits(m.subI(bits, m.emit<arith::ShLIOp>(exponent, size)));
  Value one = m.wide(1);
  Value f = m.div(m.sub(mantissa, one), m.add(mantissa, one));
  Value sum =
      m.widePolynomial(m.mul(f, f), {1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9,
                                     1. / 7, 1. / 5, 1. / 3, 1});
  Value e = m.emit<arith::SIToFPOp>(m.f64(), exponent);
  // 2 / ln 2
  Value result = m.fma(m.mul(sum, f), m.wide(2.8853900817779268), e);
  Value infinity = m.wide(std::numeric_limits<double>::infinity());
  result = m.select(m.equal(x, infinity), infinity, result);
  return m.select(m.equal(x, m.wide(0)), m.negate(infinity), result);
}

/// Computes 2^x. Results outside of the range of f32 stay outside.
static Value emitExp2(WideMath m, Value x) {
  x = m.select(m.less(x, m.wide(-200)), m.wide(-200), x);
  x = m.select(m.greater(x, m.wide(200)), m.wide(200), x);
  Value whole = m.round(x);
  Value r = m.mul(m.sub(x, whole), m.wide(0.69314718055994531));
  Value power =
      m.widePolynomial(r, {1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
                           1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1});
  Value exponent = m.emit<arith::ShLIOp>(
      m.addI(m.toBits(whole), m.wideInteger(1023)), m.wideInteger(52));
  return m.mul(power, m.fromWideBits(exponent));
}

Value ark::emitPow(ScalarMath narrow, Value x, Value y) {
  WideMath m(narrow);
  Value base = m.widen(x), exponent = m.widen(y);
  Value zero = m.wide(0), one = m.wide(1);
  Value infinity = m.wide(std::numeric_limits<double>::infinity());
  Value nan = m.wide(std::numeric_limits<double>::quiet_NaN());

  Value size = m.abs(base), log = emitLog2(m, size);
  // Every power of one is one, including infinite powers.
  Value product = m.select(m.equal(size, one), zero, m.mul(exponent, log));
  Value result = emitExp2(m, product);

  // Odd powers of negative numbers are negative; powers that are not integral
  // are NaN.
  Value isWhole = m.isIntegral(exponent);
  Value isEven = m.isIntegral(m.mul(exponent, m.wide(0.5)));
  Value signedOne = m.emit<math::CopySignOp>(one, base);
  result =
      m.mul(result, m.select(isEven, one, m.select(isWhole, signedOne, one)));
  Value isNegative =
      m.emit<arith::AndIOp>(m.less(base, zero), m.less(size, infinity));
  result = m.select(isNegative, m.select(isWhole, result, nan), result);
  Value isNone = m.emit<arith::OrIOp>(m.isNaN(base), m.isNaN(exponent));
  result = m.select(isNone, nan, result);
  Value isOne =
      m.emit<arith::OrIOp>(m.equal(base, one), m.equal(exponent, zero));
  return m.narrow(m.select(isOne, one, result));
}
