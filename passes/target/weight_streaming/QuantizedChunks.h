//===- QuantizedChunks.h - Widens quantized weights -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WEIGHT_STREAMING_QUANTIZEDCHUNKS_H
#define ARK_PASSES_TARGET_WEIGHT_STREAMING_QUANTIZEDCHUNKS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Widens the quantized weights of one load in registers. `loaded` is a vector
/// of bytes or of 8-bit floats, and `zero` an i32, of which the four low bits
/// count, or null for the default zero of numbers of 4 bits. Results have no
/// scale: weights minus their zero are exact in f16, bf16 and f32.
class WeightWidener {
public:
  WeightWidener(ImplicitLocOpBuilder &builder, bool hasFourBits)
      : builder(builder), hasFourBits(hasFourBits) {}

  /// Returns the weights as f32, in their order.
  SmallVector<Value> getScalars(Value loaded, Value zero);
  /// Returns pairs of weights of the type `element`, f16 or bf16: words of 32
  /// bits, in the order of `arrangeRow`.
  SmallVector<Value> getPairs(Value loaded, Value zero, Type element);
  /// Arranges the elements of an activation row that belong to a load, so that
  /// their pairs fit those of `getPairs`.
  Value arrangeRow(Value row);

private:
  Value word(int64_t value);
  Value getZero(Value zero);
  SmallVector<Value> getWords(Value loaded);
  SmallVector<Value> getFloatPairs(Value loaded, Type element);

  ImplicitLocOpBuilder &builder;
  bool hasFourBits;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WEIGHT_STREAMING_QUANTIZEDCHUNKS_H
