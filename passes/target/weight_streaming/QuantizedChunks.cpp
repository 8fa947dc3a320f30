//===- QuantizedChunks.cpp - Widens quantized weights ---------------------===//

#include "passes/target/weight_streaming/QuantizedChunks.h"

#include "lib/support/QuantizedProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// Numbers of 4 bits in a word of 32 bits.
static constexpr int64_t kPerWord = 8;

Value WeightWidener::word(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 32);
}

Value WeightWidener::getZero(Value zero) {
  return zero ? zero : word(kDefaultZero);
}

/// Returns the bytes of a load as words of 32 bits.
SmallVector<Value> WeightWidener::getWords(Value loaded) {
  int64_t count = cast<VectorType>(loaded.getType()).getNumElements() / 4;
  Value words = vector::BitCastOp::create(
      builder, VectorType::get(count, builder.getI32Type()), loaded);
  SmallVector<Value> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(vector::ExtractOp::create(builder, words, i));
  return all;
}

SmallVector<Value> WeightWidener::getScalars(Value loaded, Value zero) {
  Type f32 = builder.getF32Type();
  SmallVector<Value> numbers;
  if (!hasFourBits) {
    int64_t count = cast<VectorType>(loaded.getType()).getNumElements();
    for (int64_t i = 0; i < count; ++i) {
      Value number = vector::ExtractOp::create(builder, loaded, i);
      numbers.push_back(arith::ExtFOp::create(builder, f32, number));
    }
    return numbers;
  }
  for (Value packed : getWords(loaded))
    for (int64_t i = 0; i < kPerWord; ++i) {
      Value shifted = arith::ShRUIOp::create(builder, packed, word(4 * i));
      Value bits = arith::AndIOp::create(builder, shifted, word(15));
      numbers.push_back(arith::SIToFPOp::create(
          builder, f32, arith::SubIOp::create(builder, bits, getZero(zero))));
    }
  return numbers;
}

SmallVector<Value> WeightWidener::getFloatPairs(Value loaded, Type element) {
  VectorType pair = VectorType::get(2, element);
  SmallVector<Value> numbers = getScalars(loaded, Value()), pairs;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    Value wide = vector::FromElementsOp::create(
        builder, VectorType::get(2, builder.getF32Type()),
        ValueRange{numbers[i], numbers[i + 1]});
    pairs.push_back(arith::TruncFOp::create(builder, pair, wide));
  }
  return pairs;
}

/// The bits of a number of 4 bits are the lowest bits of the mantissa of a
/// float whose last place is 1: 128 for bf16, and 1024 for f16. The float minus
/// the same float with the bits of the zero is hence exact. A mask of one word
/// selects the numbers i and i + 4.
SmallVector<Value> WeightWidener::getPairs(Value loaded, Value zero,
                                           Type element) {
  VectorType pair = VectorType::get(2, element);
  if (!hasFourBits)
    return getFloatPairs(loaded, element);
  Value base = word(element.isBF16() ? 0x43004300 : 0x64006400);
  auto toFloats = [&](Value bits) -> Value {
    return LLVM::BitcastOp::create(builder, pair,
                                   arith::OrIOp::create(builder, bits, base));
  };
  Value offset =
      toFloats(arith::MulIOp::create(builder, getZero(zero), word(0x00010001)));
  SmallVector<Value> pairs;
  for (Value packed : getWords(loaded))
    for (int64_t i = 0; i < kPerWord / 2; ++i) {
      Value shifted = arith::ShRUIOp::create(builder, packed, word(4 * i));
      Value bits = arith::AndIOp::create(builder, shifted, word(0x000f000f));
      // The LLVM dialect keeps the subtraction in 16 bits.
      pairs.push_back(LLVM::FSubOp::create(builder, toFloats(bits), offset));
    }
  return pairs;
}

Value WeightWidener::arrangeRow(Value row) {
  if (!hasFourBits)
    return row;
  SmallVector<int64_t> order;
  int64_t count = cast<VectorType>(row.getType()).getNumElements();
  for (int64_t first = 0; first < count; first += kPerWord)
    for (int64_t i = 0; i < kPerWord / 2; ++i)
      order.append({first + i, first + i + kPerWord / 2});
  return vector::ShuffleOp::create(builder, row, row, order);
}
