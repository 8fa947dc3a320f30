//===- PacketRows.h - Layout of received packets ----------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_PACKETROWS_H
#define ARK_LIB_SUPPORT_PACKETROWS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::ark {

/// Maximum number of packets of 16-bit values that a thread receives with one
/// load.
inline constexpr int64_t kPacketsPerLoad = 4;
/// Maximum number of packets of f32 values that a thread receives with one
/// load.
inline constexpr int64_t kWidePacketsPerLoad = 2;

/// Returns the integer type of a packet with a value of this type, which is
/// twice as wide. Returns null if no packet carries the type.
Type getPacketType(Type value);

/// `count` rows of `size` consecutive elements, `stride` elements apart. Size
/// and stride are multiples of `perLoad`, the elements that a thread loads at
/// once.
struct PacketRows {
  int64_t count = 0, size = 0, stride = 0;
  int64_t perLoad = kPacketsPerLoad;

  /// Returns the rows of a buffer of values or packets with the largest
  /// `perLoad` that divides size and stride. Returns nothing if the buffer has
  /// another layout.
  static std::optional<PacketRows> match(MemRefType type);
  /// Returns the number of values or packets of this type in the widest load.
  static int64_t getMaxPerLoad(Type element);
  /// Returns the number of elements from the first to the last element.
  int64_t getSpan() const { return (count - 1) * stride + size; }
  int64_t getNumLoads() const { return count * size / perLoad; }
};

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_PACKETROWS_H
