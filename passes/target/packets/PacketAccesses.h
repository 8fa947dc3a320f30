//===- PacketAccesses.h - Checks accesses to LL packets ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H
#define ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Checks the code of a kernel: functions of the LLVM dialect in `container`.
///
/// - arguments of bodies carry `ark.packets` where the tables say that they are
///   packets;
/// - only packet instructions use values that are computed from the address of
///   a packet. For cuda these are the relaxed stores of one word and the
///   relaxed loads of CudaPackets.mlir; for cpu, stores of 64 bits with
///   release.
LogicalResult verifyPacketAccesses(KernelOp kernel, Operation *container,
                                   Backend backend);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H
