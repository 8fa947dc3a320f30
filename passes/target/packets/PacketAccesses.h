//===- PacketAccesses.h - Checks accesses to LL packets ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H
#define ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H

#include "dialects/ark/ArkOps.h"
#include "lib/backend/Backend.h"

namespace mlir::ark {

/// Checks the code of a kernel, the functions of the LLVM dialect in
/// `container`:
///
///   - arguments of bodies carry `ark.packets` if the tables say that they are
///     packets;
///   - only packet instructions use values that are computed from the address
///     of a packet. `Backend::isPacketAccess` recognises packet instructions.
///
/// `target` is the target of the module, null for the host.
LogicalResult verifyPacketAccesses(KernelOp kernel, Operation *container,
                                   TargetAttr target, const Backend &backend);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PACKETS_PACKETACCESSES_H
