//===- ExpandFloats.cpp - Expands conversions of narrow floats ------------===//
//
// Bodies compute in f32; narrow floats occur only in loads and stores. If the
// processor has no conversion instruction, LLVM would call a function of the
// compiler runtime library, which is not part of a kernel. Integer arithmetic
// has the same result and vectorises.
//
//===----------------------------------------------------------------------===//

#include "passes/target/math/Passes.h"
#include "passes/target/math/ScalarMath.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDFLOATSPASS
#include "passes/target/math/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// A binary format with a sign bit.
struct Format {
  int exponentBits, mantissaBits;
  /// True if the largest exponent encodes infinity and NaN. Otherwise only the
  /// number with all bits set is NaN, and there is no infinity.
  bool hasInfinity;

  int getBias() const { return (1 << (exponentBits - 1)) - 1; }
  int getWidth() const { return 1 + exponentBits + mantissaBits; }
  /// Returns the bits, without the sign, of infinity, or of NaN if there is no
  /// infinity.
  uint32_t getOverflow() const {
    uint32_t allOnes = (1u << (getWidth() - 1)) - 1;
    return hasInfinity ? allOnes >> mantissaBits << mantissaBits : allOnes;
  }
  uint32_t getNaN() const {
    return hasInfinity ? getOverflow() | 1u << (mantissaBits - 1)
                       : getOverflow();
  }
};
} // namespace

/// Returns the format of a type that is expanded; bf16 has its own expansion.
static std::optional<Format> getFormat(Type type) {
  if (type.isF16())
    return Format{5, 10, true};
  if (isa<Float8E5M2Type>(type))
    return Format{5, 2, true};
  if (isa<Float8E4M3FNType>(type))
    return Format{4, 3, false};
  return std::nullopt;
}

static uint32_t bitsOf(float value) { return llvm::bit_cast<uint32_t>(value); }

//===----------------------------------------------------------------------===//
// Narrow to f32
//===----------------------------------------------------------------------===//

/// bf16 is the upper half of f32.
static Value extendBF16(ScalarMath m, Value bits) { return m.shl(bits, 16); }

/// Moves the fields to their positions in f32, and corrects the bias by a
/// multiplication, which is exact for subnormal numbers too.
static Value extendFormat(ScalarMath m, Value bits, const Format &format) {
  Value sign = m.shl(m.shr(bits, format.getWidth() - 1), 31);
  Value size = m.andI(bits, m.integer((1u << (format.getWidth() - 1)) - 1));
  Value moved = m.shl(size, 23 - format.mantissaBits);
  Value scale = m.number(std::ldexp(1.0, 127 - format.getBias()));
  Value number = m.bits(m.mul(m.fromBits(moved), scale));
  // Infinity keeps a zero mantissa, NaN a nonzero mantissa.
  Value special = m.orI(moved, m.integer(0x7f800000));
  Value isSpecial = m.atLeast(size, m.integer(format.getOverflow()));
  return m.orI(sign, m.select(isSpecial, special, number));
}

//===----------------------------------------------------------------------===//
// 8-bit floats to f16 by instructions
//===----------------------------------------------------------------------===//

static bool isFp8(Type type) {
  return isa<Float8E5M2Type, Float8E4M3FNType>(getElementTypeOrSelf(type));
}

namespace {
/// Widens 8-bit floats exactly, two at a time.
struct PairWidener {
  ScalarMath m;
  Type type;

  VectorType vectorOf(int64_t size, Type element) {
    return VectorType::get({size}, element);
  }
  Value extract(Value vector, int64_t index) {
    return vector::ExtractOp::create(m.builder, m.loc, vector, index);
  }

  /// Widens two floats packed into 16 bits.
  Value widenPair(Value bits) {
    StringRef name = isa<Float8E5M2Type>(type) ? "llvm.nvvm.e5m2x2.to.f16x2.rn"
                                               : "llvm.nvvm.e4m3x2.to.f16x2.rn";
    return LLVM::CallIntrinsicOp::create(
               m.builder, m.loc, vectorOf(2, m.builder.getF16Type()),
               m.builder.getStringAttr(name), ValueRange{bits})
        .getResult(0);
  }
  Value getPairs(Value vector) {
    int64_t size = cast<VectorType>(vector.getType()).getNumElements();
    return vector::BitCastOp::create(
        m.builder, m.loc, vectorOf(size / 2, m.builder.getI16Type()), vector);
  }

  Value widenVector(Value vector) {
    int64_t size = cast<VectorType>(vector.getType()).getNumElements();
    Value pairs = getPairs(vector);
    SmallVector<Value> elements;
    for (int64_t index = 0; index < size / 2; ++index) {
      Value pair = widenPair(extract(pairs, index));
      elements.push_back(extract(pair, 0));
      elements.push_back(extract(pair, 1));
    }
    return vector::FromElementsOp::create(
        m.builder, m.loc, vectorOf(size, m.builder.getF16Type()), elements);
  }

  /// Widens an element. An element of a vector is widened together with its
  /// neighbour, and its half of the result is extracted.
  Value widenElement(Value value) {
    auto op = value.getDefiningOp<vector::ExtractOp>();
    VectorType from = op ? op.getSourceVectorType() : VectorType();
    if (from && from.getRank() == 1 && from.getNumElements() % 2 == 0 &&
        !op.hasDynamicPosition()) {
      int64_t position = op.getStaticPosition().front();
      Value pairs = getPairs(op.getSource());
      return extract(widenPair(extract(pairs, position / 2)), position % 2);
    }
    Value bits = m.emit<arith::BitcastOp>(m.builder.getI8Type(), value);
    bits = m.emit<arith::ExtUIOp>(m.builder.getI16Type(), bits);
    return extract(widenPair(bits), 0);
  }
};
} // namespace

/// Widens 8-bit floats to f16. Returns null for shapes without pairs.
static Value widenFp8(ScalarMath m, Value x) {
  PairWidener widener{m, getElementTypeOrSelf(x.getType())};
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector)
    return widener.widenElement(x);
  bool hasPairs = vector.getRank() == 1 && !vector.isScalable() &&
                  vector.getNumElements() % 2 == 0;
  return hasPairs ? widener.widenVector(x) : Value();
}

//===----------------------------------------------------------------------===//
// f32 to narrow, to nearest even
//===----------------------------------------------------------------------===//

static Value truncateBF16(ScalarMath m, Value x) {
  Value bits = m.bits(x);
  Value odd = m.andI(m.shr(bits, 16), m.integer(1));
  Value rounded = m.addI(bits, m.addI(odd, m.integer(0x7fff)));
  // Rounding could turn a NaN into infinity, so a NaN is made quiet instead.
  Value nan = m.orI(bits, m.integer(0x400000));
  return m.shr(m.select(m.isNaN(x), nan, rounded), 16);
}

static Value truncateFormat(ScalarMath m, Value x, const Format &format) {
  int shift = 23 - format.mantissaBits;
  Value bits = m.bits(x);
  Value sign = m.shl(m.shr(bits, 31), format.getWidth() - 1);
  Value size = m.andI(bits, m.integer(0x7fffffff));

  // Subnormal: the addition of a number whose last place is the format's
  // smallest step rounds in hardware.
  float step = std::ldexp(1.0f, 24 - format.getBias() - format.mantissaBits);
  Value aligned = m.add(m.fromBits(size), m.number(step));
  Value small = m.subI(m.bits(aligned), m.integer(bitsOf(step)));

  // Normal: changes the bias, and adds half a step, or slightly less for even
  // numbers.
  uint32_t bias = static_cast<uint32_t>(127 - format.getBias()) << 23;
  Value odd = m.andI(m.shr(size, shift), m.integer(1));
  Value rounded = m.addI(m.subI(size, m.integer(bias)),
                         m.addI(odd, m.integer((1u << (shift - 1)) - 1)));
  Value large = m.shr(rounded, shift);

  uint32_t leastNormal = static_cast<uint32_t>(128 - format.getBias()) << 23;
  Value isNormal = m.atLeast(size, m.integer(leastNormal));
  Value result = m.select(isNormal, large, small);
  Value overflow = m.integer(format.getOverflow());
  result = m.select(m.atLeast(result, overflow), overflow, result);
  result = m.select(m.isNaN(x), m.integer(format.getNaN()), result);
  return m.orI(sign, result);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// The conversions to expand.
struct Expansion {
  bool expandFp16, expandBf16Rounding, nativeFp8;

  bool covers(Type type) const {
    Type element = getElementTypeOrSelf(type);
    return element.isBF16() ||
           (element.isF16() ? expandFp16 : getFormat(element).has_value());
  }

  /// Returns true if f32 is rounded to this type by integer arithmetic.
  bool rounds(Type type) const {
    return covers(type) &&
           (expandBf16Rounding || !getElementTypeOrSelf(type).isBF16());
  }
};
} // namespace

/// Converts a narrow float to f32, with instructions if the processor has them.
static Value widen(ScalarMath m, Value x, const Expansion &expansion) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from.isF32())
    return x;
  if (!expansion.covers(from))
    return m.emit<arith::ExtFOp>(m.f32(), x);
  if (expansion.nativeFp8 && isFp8(from))
    if (Value half = widenFp8(m, x))
      return m.emit<arith::ExtFOp>(m.f32(), half);
  Type integer = m.like(m.builder.getIntegerType(from.getIntOrFloatBitWidth()));
  Value bits =
      m.emit<arith::ExtUIOp>(m.i32(), m.emit<arith::BitcastOp>(integer, x));
  std::optional<Format> format = getFormat(from);
  return m.fromBits(format ? extendFormat(m, bits, *format)
                           : extendBF16(m, bits));
}

/// Converts f32 to a narrow float.
static Value narrow(ScalarMath m, Value x, Type type,
                    const Expansion &expansion) {
  Type to = getElementTypeOrSelf(type);
  if (!expansion.rounds(to))
    return m.emit<arith::TruncFOp>(type, x);
  std::optional<Format> format = getFormat(to);
  Value bits = format ? truncateFormat(m, x, *format) : truncateBF16(m, x);
  Type integer = m.like(m.builder.getIntegerType(to.getIntOrFloatBitWidth()));
  return m.emit<arith::BitcastOp>(type, m.emit<arith::TruncIOp>(integer, bits));
}

namespace {
/// Converts between two floats of at most 32 bits via f32, which represents all
/// of their values. The expanded half is not a conversion in MLIR any more, so
/// that no folder merges the two halves.
template <typename Op>
struct ExpandFloatToFloat : OpRewritePattern<Op> {
  ExpandFloatToFloat(MLIRContext *context, Expansion expansion)
      : OpRewritePattern<Op>(context), expansion(expansion) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType();
    if (getElementTypeOrSelf(from).getIntOrFloatBitWidth() > 32 ||
        getElementTypeOrSelf(to).getIntOrFloatBitWidth() > 32 ||
        !(expansion.covers(from) || expansion.rounds(to)))
      return rewriter.notifyMatchFailure(op, "is left to LLVM");
    ScalarMath m{rewriter, op.getLoc(), from};
    if (expansion.nativeFp8 && isFp8(from) && getElementTypeOrSelf(to).isF16())
      if (Value half = widenFp8(m, op.getIn())) {
        rewriter.replaceOp(op, half);
        return success();
      }
    Value wide = widen(m, op.getIn(), expansion);
    rewriter.replaceOp(op, getElementTypeOrSelf(to).isF32()
                               ? wide
                               : narrow(m, wide, to, expansion));
    return success();
  }

  Expansion expansion;
};

/// Converts integers via f32, as PyTorch and NumPy do. Integers that f32 rounds
/// exceed the range of f16 and the 8-bit floats. For bf16, rounding twice may
/// differ from rounding once in the last bit.
template <typename Op>
struct ExpandIntToFloat : OpRewritePattern<Op> {
  ExpandIntToFloat(MLIRContext *context, Expansion expansion)
      : OpRewritePattern<Op>(context), expansion(expansion) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!expansion.covers(op.getType()))
      return rewriter.notifyMatchFailure(op, "is left to LLVM");
    ScalarMath m{rewriter, op.getLoc(), op.getType()};
    Value wide = m.emit<Op>(m.f32(), op.getIn());
    rewriter.replaceOp(op, narrow(m, wide, op.getType(), getRounding(op)));
    return success();
  }

private:
  /// Returns an expansion that always expands the second rounding: MLIR would
  /// fold the two conversions into one.
  Expansion getRounding(Op op) const {
    Expansion rounding = expansion;
    unsigned bits = getElementTypeOrSelf(op.getIn()).getIntOrFloatBitWidth();
    rounding.expandBf16Rounding |=
        bits > APFloat::semanticsPrecision(APFloat::IEEEsingle());
    return rounding;
  }

  Expansion expansion;
};

/// Converts a single bit by a select between two constants, for integers of any
/// width. ptxas 12.9 and 13.0 miscompile some conversions of bits: the result
/// is the bit itself instead of the number.
template <typename Op>
struct SelectForBit : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value bit = findBit(op.getIn());
    if (!bit)
      return rewriter.notifyMatchFailure(op, "converts more than a bit");
    auto constant = [&](TypedAttr value) {
      return arith::ConstantOp::create(rewriter, op.getLoc(), value);
    };
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, bit, constant(rewriter.getOneAttr(op.getType())),
        constant(rewriter.getZeroAttr(op.getType())));
    return success();
  }

private:
  /// Returns the bit that a number equals, or null if the number may differ
  /// from one and zero.
  static Value findBit(Value number) {
    if (std::is_same_v<Op, arith::SIToFPOp> &&
        getElementTypeOrSelf(number).isInteger(1))
      return {}; // The number is minus one or zero.
    if (auto select = number.getDefiningOp<arith::SelectOp>())
      if (matchPattern(select.getTrueValue(), m_One()) &&
          matchPattern(select.getFalseValue(), m_Zero()))
        return select.getCondition();
    while (auto wider = number.getDefiningOp<arith::ExtUIOp>())
      number = wider.getIn();
    return getElementTypeOrSelf(number).isInteger(1) ? number : Value();
  }
};

template <typename Op>
struct ExpandFloatToInt : OpRewritePattern<Op> {
  ExpandFloatToInt(MLIRContext *context, Expansion expansion)
      : OpRewritePattern<Op>(context), expansion(expansion) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!expansion.covers(op.getIn().getType()))
      return rewriter.notifyMatchFailure(op, "is left to LLVM");
    ScalarMath m{rewriter, op.getLoc(), op.getIn().getType()};
    Value wide = widen(m, op.getIn(), expansion);
    rewriter.replaceOpWithNewOp<Op>(op, op.getType(), wide);
    return success();
  }

  Expansion expansion;
};

struct ExpandFloatsPass : ark::impl::ExpandFloatsPassBase<ExpandFloatsPass> {
  using ExpandFloatsPassBase::ExpandFloatsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<
        ExpandFloatToFloat<arith::ExtFOp>, ExpandFloatToFloat<arith::TruncFOp>,
        ExpandIntToFloat<arith::SIToFPOp>, ExpandIntToFloat<arith::UIToFPOp>,
        ExpandFloatToInt<arith::FPToSIOp>, ExpandFloatToInt<arith::FPToUIOp>>(
        &getContext(), Expansion{expandFp16, expandBf16Rounding, nativeFp8});
    patterns.add<SelectForBit<arith::SIToFPOp>, SelectForBit<arith::UIToFPOp>>(
        &getContext(), /*benefit=*/2);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
