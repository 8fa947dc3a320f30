//===- PacketPolling.h - Loops that poll for LL packets ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H
#define ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H

#include "lib/support/PacketRows.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Returns the address of a load of a dense buffer of packets.
Value getPacketAddress(ImplicitLocOpBuilder &builder, Value packets,
                       Value loadIndex);

/// A 16-byte load of packets: four packets of 32 bits or two of 64 bits.
struct PacketLoad {
  Value address;
  bool isWide = false;
};

/// Polls until all packets of the loads carry the epoch of this iteration.
/// Returns an i64 per load that contains the values of the load. All threads of
/// a warp must execute the loop.
SmallVector<Value> pollPackets(ImplicitLocOpBuilder &builder,
                               ArrayRef<PacketLoad> loads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PACKETS_PACKETPOLLING_H
