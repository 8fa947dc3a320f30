//===- ArkLimits.cpp - Limits on the size of a program --------------------===//

#include "dialects/ark/ArkLimits.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static uint64_t getElementBytes(Type element) {
  return element.isIntOrFloat()
             ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
             : 8;
}

static uint64_t atLeastOne(int64_t extent) {
  return std::max<int64_t>(extent, 1);
}

/// Returns the number of elements of a dense tensor or buffer.
static uint64_t getDenseSpan(ArrayRef<int64_t> shape) {
  uint64_t span = 1;
  for (int64_t extent : shape)
    span = llvm::SaturatingMultiply(span, atLeastOne(extent));
  return span;
}

/// Returns the number of elements from the start to the last element of a
/// strided buffer. Other checks refuse negative strides and offsets.
static uint64_t getStridedSpan(ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> strides, int64_t offset) {
  uint64_t span = std::max<int64_t>(offset, 0) + uint64_t(1);
  for (auto [extent, stride] : llvm::zip(shape, strides))
    span = llvm::SaturatingMultiplyAdd<uint64_t>(
        atLeastOne(extent) - 1, std::max<int64_t>(stride, 0), span);
  return span;
}

bool ark::isAddressable(ShapedType type) {
  uint64_t span = getDenseSpan(type.getShape());
  auto buffer = dyn_cast<MemRefType>(type);
  if (buffer && !buffer.getLayout().isIdentity()) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(buffer.getStridesAndOffset(strides, offset)))
      return true;
    span = getStridedSpan(type.getShape(), strides, offset);
  }
  uint64_t bytes =
      llvm::SaturatingMultiply(span, getElementBytes(type.getElementType()));
  return bytes <= static_cast<uint64_t>(kMaxBytes);
}

std::optional<int64_t> ark::countVCTAs(ArrayRef<int64_t> grid) {
  int64_t count = 1;
  for (int64_t extent : grid) {
    if (extent <= 0 || extent > kMaxVCTAs)
      return std::nullopt;
    count *= extent;
    if (count > kMaxVCTAs)
      return std::nullopt;
  }
  return count;
}
