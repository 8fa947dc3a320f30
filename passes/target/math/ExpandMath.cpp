//===- ExpandMath.cpp - Expands math functions to arithmetic --------------===//
//
// LLVM's loop vectoriser has no vector form of these functions of the maths
// library. Straight-line arithmetic without branches vectorises with the
// enclosing loop. The formulas below are minimax polynomials after an argument
// reduction. All of them are accurate to two units in the last place (tanh to
// three if the division is approximate), follow IEEE 754 for zeros, infinities
// and NaN, and preserve subnormals.
//
//===----------------------------------------------------------------------===//

#include "passes/target/math/LibraryMath.h"
#include "passes/target/math/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "passes/target/math/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// Returns 2^n for n in [-126, 127].
static Value powerOfTwo(ScalarMath m, Value n) {
  return m.fromBits(m.shl(m.addI(n, m.integer(127)), 23));
}

/// Computes e^x = 2^n e^r, where x = n ln 2 + r with |r| <= ln 2 / 2.
static Value emitExp(ScalarMath m, Value x) {
  // Beyond these bounds the result is zero or infinite. NaN compares false and
  // is preserved.
  x = m.select(m.less(x, m.number(-104)), m.number(-104), x);
  x = m.select(m.greater(x, m.number(89)), m.number(89), x);
  // Adding 1.5 * 2^23 rounds to an integer in the low bits. A conversion
  // instruction would be undefined for NaN.
  Value magic = m.number(12582912);
  Value shifted = m.fma(x, m.number(1.4426950408889634), magic);
  Value n = m.subI(m.bits(shifted), m.bits(magic));
  Value integral = m.sub(shifted, magic);
  // ln 2 as the sum of a high and a low number, so that the reduction is exact.
  Value r = m.fma(integral, m.floatOfBits(0xbf317200), x); // -0x1.62e400p-1
  r = m.fma(integral, m.floatOfBits(0xb5bfbe8e), r);       // -0x1.7f7d1cp-20
  Value power = m.polynomial(r, {1.37805939e-3, 8.37312452e-3, 4.16695364e-2,
                                 1.66664720e-1, 4.99999851e-1, 1, 1});
  // Scales in two steps: 2^n may overflow although the product does not.
  Value half = m.shrS(n, 1);
  return m.mul(m.mul(power, powerOfTwo(m, half)),
               powerOfTwo(m, m.subI(n, half)));
}

/// Computes e^x with an instruction for powers of two. The rounding error of x
/// log2 e is corrected by a factor.
static Value emitExpWithInstruction(ScalarMath m, Value x) {
  // Without the bound, infinities would be subtracted from each other. NaN is
  // preserved.
  x = m.emit<arith::MaximumFOp>(x, m.number(-150));
  x = m.emit<arith::MinimumFOp>(x, m.number(150));
  Value log2e = m.floatOfBits(0x3fb8aa3b);
  Value exponent = m.mul(x, log2e);
  Value rest = m.fma(x, log2e, m.emit<arith::NegFOp>(exponent));
  rest = m.fma(x, m.number(1.925963033500e-8), rest);
  Value factor = m.fma(rest, m.number(0.6931471805599453), m.number(1));
  return m.mul(m.emit<math::Exp2Op>(exponent), factor);
}

static Value copySign(ScalarMath m, Value magnitude, Value sign) {
  return m.emit<math::CopySignOp>(magnitude, sign);
}

/// Computes tanh x by a polynomial near zero, and by 1 - 2 / (e^2|x| + 1)
/// elsewhere, which has no cancellation there. The quotient is at most half of
/// the result, so that its division may be approximate: an exact one takes 20
/// instructions and a branch on GPUs. The sign is copied from x in both cases,
/// because the last step of the polynomial adds zeros of different signs and
/// loses the sign of zero.
static Value emitTanh(ScalarMath m, Value x) {
  Value size = m.abs(x), square = m.mul(x, x);
  Value near = m.polynomial(
      square, {1.57394409e-2, -5.23025580e-2, 1.33152470e-1, -3.33327681e-1});
  near = m.fma(m.mul(near, square), x, x);
  Value power = m.emit<math::ExpOp>(m.add(size, size));
  Value quotient =
      m.divideApproximately(m.number(2), m.add(power, m.number(1)));
  Value far = m.sub(m.number(1), quotient);
  return copySign(m, m.select(m.less(size, m.number(0.55)), near, far), x);
}

/// Computes erf x by a polynomial near zero, and by 1 - e^-p(|x|) elsewhere.
static Value emitErf(ScalarMath m, Value x) {
  Value square = m.mul(x, x);
  Value near =
      m.polynomial(square, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
                            1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  near = m.fma(near, x, x);

  Value size = m.abs(x);
  // Beyond this bound the result is one.
  Value bounded = m.select(m.greater(size, m.number(4)), m.number(4), size);
  Value exponent = m.polynomial(
      bounded, {-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2,
                -1.06777877e-1, -6.34846687e-1, -1.28717512e-1});
  exponent = m.fma(exponent, bounded, m.sub(m.number(0), bounded));
  Value far = m.sub(m.number(1), m.emit<math::ExpOp>(exponent));
  return m.select(m.less(size, m.number(0.927734375)), near,
                  copySign(m, far, x));
}

/// Computes ln x = e ln 2 + ln(1 + f), where x = 2^e (1 + f) with 1 + f in
/// [2/3, 4/3].
static Value emitLog(ScalarMath m, Value x) {
  // A subnormal is first scaled to a normal number.
  Value isSmall = m.less(x, m.floatOfBits(0x00800000));
  Value scaled = m.select(isSmall, m.mul(x, m.number(8388608)), x);
  Value bias = m.select(isSmall, m.number(-23), m.number(0));

  Value bits = m.bits(scaled), twoThirds = m.integer(0x3f2aaaab);
  Value exponent = m.shrS(m.subI(bits, twoThirds), 23);
  Value mantissa = m.fromBits(m.subI(bits, m.shl(exponent, 23)));
  Value e = m.add(m.emit<arith::SIToFPOp>(m.f32(), exponent), bias);
  Value f = m.sub(mantissa, m.number(1)), square = m.mul(f, f);

  // Even and odd powers are summed separately, which shortens the dependence
  // chain.
  Value even = m.polynomial(
      square, {-0.130310059, -0.121483512, -0.166846126, -0.249996200});
  Value odd = m.polynomial(square, {0.140869141, 0.139814854, 0.200120345});
  Value sum = m.fma(odd, f, even);
  sum = m.fma(sum, f, m.number(0.333331972));
  sum = m.fma(sum, f, m.number(-0.5));
  sum = m.fma(sum, square, f);
  Value result = m.fma(e, m.floatOfBits(0x3f317218), sum); // ln 2

  Value zero = m.number(0);
  Value infinity = m.floatOfBits(0x7f800000), nan = m.floatOfBits(0x7fc00000);
  Value isFinite = m.less(x, infinity);
  // Infinity and NaN are their own logarithms.
  result = m.select(isFinite, result, x);
  result = m.select(m.less(x, zero), nan, result);
  Value isZero = m.emit<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, zero);
  return m.select(isZero, m.floatOfBits(0xff800000), result);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Replaces an op on f32 by a formula.
template <typename Op>
struct Expand : OpRewritePattern<Op> {
  using Formula = Value (*)(ScalarMath, Value);

  Expand(MLIRContext *context, Formula formula)
      : OpRewritePattern<Op>(context), formula(formula) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    ScalarMath math{rewriter, op.getLoc(), op.getType()};
    rewriter.replaceOp(op, formula(math, op.getOperand()));
    return success();
  }

  Formula formula;
};

struct ExpandPow : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern<math::PowFOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    ScalarMath math{rewriter, op.getLoc(), op.getType()};
    rewriter.replaceOp(op, emitPow(math, op.getLhs(), op.getRhs()));
    return success();
  }
};

/// Splits fma, which is a slow library call without an instruction. The second
/// rounding costs the formulas one or two bits.
template <typename Op>
struct SplitFma : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto [a, b, c] =
        std::tuple(op->getOperand(0), op->getOperand(1), op->getOperand(2));
    Value product = arith::MulFOp::create(rewriter, op.getLoc(), a, b);
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, c);
    return success();
  }
};

/// Keeps an op on f32 from being expanded to comparisons.
template <typename Op, typename Intrinsic>
struct UseIntrinsic : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    rewriter.replaceOpWithNewOp<Intrinsic>(op, op.getLhs(), op.getRhs());
    return success();
  }
};

struct ExpandMathPass : ark::impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::ExpOp>>(&getContext(),
                                      exp2 ? emitExpWithInstruction : emitExp);
    patterns.add<Expand<math::TanhOp>>(&getContext(), emitTanh);
    patterns.add<Expand<math::ErfOp>>(&getContext(), emitErf);
    patterns.add<Expand<math::LogOp>>(&getContext(), emitLog);
    if (!library) {
      patterns.add<Expand<math::SinOp>>(&getContext(), emitSin);
      patterns.add<Expand<math::CosOp>>(&getContext(), emitCos);
      patterns.add<ExpandPow>(&getContext());
    }
    if (maximum)
      patterns.add<UseIntrinsic<arith::MaximumFOp, LLVM::MaximumOp>,
                   UseIntrinsic<arith::MinimumFOp, LLVM::MinimumOp>>(
          &getContext());
    if (!fma)
      patterns.add<SplitFma<math::FmaOp>, SplitFma<vector::FMAOp>>(
          &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
