//===- SplitFloat.cpp - f32 numbers as sums of bf16 numbers ---------------===//

#include "passes/target/warpgroups/SplitFloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

/// Bits of a f32 number that a bf16 number has.
static constexpr int64_t kUpperBits = 0xffff0000;
static constexpr int64_t kShift = 16;
/// Half of the unit in the last place of the upper bits, for rounding.
static constexpr int64_t kHalfUnit = 1 << (kShift - 1);

static Value createWord(ImplicitLocOpBuilder &builder, int64_t value) {
  return arith::ConstantOp::create(
      builder, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

static Value getBits(ImplicitLocOpBuilder &builder, Value number) {
  return arith::BitcastOp::create(builder, builder.getI32Type(), number);
}

static Value clearLowerBits(ImplicitLocOpBuilder &builder, Value bits) {
  return arith::AndIOp::create(builder, bits, createWord(builder, kUpperBits));
}

/// Returns number - f32(bits).
static Value subtract(ImplicitLocOpBuilder &builder, Value number, Value bits) {
  Value term = arith::BitcastOp::create(builder, builder.getF32Type(), bits);
  return arith::SubFOp::create(builder, number, term);
}

/// Joins the upper bits of two numbers. Ignores the lower bits of both numbers.
static Value pack(ImplicitLocOpBuilder &builder, Value first, Value second) {
  Value low =
      arith::ShRUIOp::create(builder, first, createWord(builder, kShift));
  return arith::OrIOp::create(builder, low, clearLowerBits(builder, second));
}

SmallVector<SmallVector<Value>> ark::splitFloats(ImplicitLocOpBuilder &builder,
                                                 ArrayRef<Value> numbers) {
  SmallVector<SmallVector<Value>> bits(kF32Terms);
  for (Value number : numbers) {
    Value high = clearLowerBits(builder, getBits(builder, number));
    Value rest = subtract(builder, number, high);
    Value rounded = arith::AddIOp::create(builder, getBits(builder, rest),
                                          createWord(builder, kHalfUnit));
    Value middle = clearLowerBits(builder, rounded);
    Value low = subtract(builder, rest, middle);
    bits[0].push_back(high);
    bits[1].push_back(middle);
    bits[2].push_back(getBits(builder, low));
  }
  SmallVector<SmallVector<Value>> words(kF32Terms);
  for (auto [termWords, termBits] : llvm::zip(words, bits))
    for (size_t i = 0; i + 1 < termBits.size(); i += 2)
      termWords.push_back(pack(builder, termBits[i], termBits[i + 1]));
  return words;
}
