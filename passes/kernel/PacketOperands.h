//===- PacketOperands.h - Operands of bodies that are packets ---*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_PACKETOPERANDS_H
#define ARK_PASSES_KERNEL_PACKETOPERANDS_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::ark {

/// Returns, for every body of a kernel in order, the operands that are packets.
/// The kernel's tables define these operands: on a GPU, the operands in the
/// slot of packets; on a CPU, the last operand of a task if a wait polls its
/// words.
///
/// Fails with an error if tables name entries that do not exist or, on a GPU,
/// if an operand is packets in one task of a body and not in another.
FailureOr<SmallVector<llvm::BitVector>> findPacketOperands(KernelOp kernel);

/// Checks that the arguments of bodies have the attribute `ark.packets` if
/// `packets` is set for them; `bodies` is in the kernel's order. On a CPU,
/// other arguments may have the attribute as well, since a task may put packets
/// that no wait polls.
LogicalResult verifyPacketArguments(KernelOp kernel,
                                    ArrayRef<llvm::BitVector> packets,
                                    ArrayRef<FunctionOpInterface> bodies);

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_PACKETOPERANDS_H
