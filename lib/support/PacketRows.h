//===- PacketRows.h - How packets lie that are received ---------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_PACKETROWS_H
#define ARK_LIB_SUPPORT_PACKETROWS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::ark {

/// Packets of values of 16 bits that a thread receives with one load.
inline constexpr int64_t kPacketsPerLoad = 4;
/// The same of f32.
inline constexpr int64_t kWidePacketsPerLoad = 2;

/// The integer type of a packet with a value of this type: twice as wide. Null
/// where there is none.
Type getPacketType(Type value);

/// Rows of consecutive elements, each of so many, so far apart; all are
/// multiples of what a thread loads at once.
struct PacketRows {
  int64_t count = 0, size = 0, stride = 0;
  int64_t perLoad = kPacketsPerLoad;

  /// Nothing where a buffer of values or packets is not like that.
  static std::optional<PacketRows> match(MemRefType type);
  /// Elements from the first to the last one.
  int64_t getSpan() const { return (count - 1) * stride + size; }
  int64_t getNumLoads() const { return count * size / perLoad; }
};

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_PACKETROWS_H
