//===- PacketPolling.h - Loops that poll for LL packets ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H
#define ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H

#include "lib/support/PacketRows.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Returns the address of a 16-byte load of a dense buffer of packets.
Value getPacketAddress(ImplicitLocOpBuilder &builder, Value packets,
                       Value loadIndex);

/// A load of one, two or four packets of 32 bits, or of one or two packets of
/// 64 bits.
struct PacketLoad {
  Value address;
  int64_t packets = kPacketsPerLoad;
  bool isWide = false;

  int64_t getBytes() const { return packets * (isWide ? 8 : 4); }
};

/// Polls until all packets of the loads carry the epoch of this iteration.
/// Returns an integer per load that contains the values of the load and has
/// half of its bits. All threads of a warp must execute the loop.
SmallVector<Value> pollPackets(ImplicitLocOpBuilder &builder,
                               ArrayRef<PacketLoad> loads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H
