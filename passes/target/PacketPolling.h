//===- PacketPolling.h - Loops that wait for packets ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PACKETPOLLING_H
#define ARK_PASSES_TARGET_PACKETPOLLING_H

#include "lib/support/PacketRows.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Where load `number` of a dense buffer of packets is, an address.
Value getPacketPlace(ImplicitLocOpBuilder &builder, Value packets,
                     Value number);

/// 16 bytes of packets: four words, or two wide ones.
struct PacketLoad {
  Value place;
  bool isWide = false;
};

/// Waits until all packets that the thread loads are those of this iteration.
/// Gives for each load its values side by side, an i64. All threads of a warp
/// have to come here.
SmallVector<Value> pollPackets(ImplicitLocOpBuilder &builder,
                               ArrayRef<PacketLoad> loads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PACKETPOLLING_H
