//===- ArkBufferOps.cpp - Ops of programs on buffers ----------------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// ArenaOp
//===----------------------------------------------------------------------===//

LogicalResult ArenaOp::verify() {
  // arena_c1
  if (isAddressable(getType()))
    return success();
  return emitOpError("takes more than 2^47 bytes (arena_c1)");
}

//===----------------------------------------------------------------------===//
// BufferCastOp
//===----------------------------------------------------------------------===//

Value BufferCastOp::getViewSource() { return getSource(); }

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

LogicalResult PacketsOp::verify() {
  // packets_c1
  if (isAddressable(getType()))
    return success();
  return emitOpError("takes more than 2^47 bytes (packets_c1)");
}

/// Bits of the widest load of a thread.
static constexpr int64_t kMaxLoadBits = 128;

LogicalResult ReceivePacketsOp::verify() {
  MemRefType packets = getPackets().getType(), values = getValues().getType();
  // receive_packets_c1
  if (packets.getShape() != values.getShape() || !packets.hasStaticShape())
    return emitOpError("needs packets and values of one static shape "
                       "(receive_packets_c1)");
  // receive_packets_c2
  if (packets.getElementTypeBitWidth() != 2 * values.getElementTypeBitWidth())
    return emitOpError("needs packets of twice the bits of the values "
                       "(receive_packets_c2)");
  // receive_packets_c3
  int64_t perLoad = getPerLoad().value_or(1);
  if (perLoad != 1 && perLoad != 2 && perLoad != 4)
    return emitOpError("loads ")
           << perLoad << " packets at once, not 1, 2 or 4 (receive_packets_c3)";
  if (perLoad * packets.getElementTypeBitWidth() > kMaxLoadBits)
    return emitOpError("loads ")
           << perLoad << " packets at once, which have more than "
           << kMaxLoadBits / 8 << " bytes (receive_packets_c3)";
  return success();
}

void ReceivePacketsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getPacketsMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getValuesMutable());
}
