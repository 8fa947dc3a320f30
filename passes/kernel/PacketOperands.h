//===- PacketOperands.h - Which operands of bodies are packets --*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_PACKETOPERANDS_H
#define ARK_PASSES_KERNEL_PACKETOPERANDS_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::ark {

/// For every body of a kernel, in its order, the operands that are packets. The
/// kernel's tables alone decide: on a GPU these are the operands in the slot of
/// packets; on a cpu the last operand of a task whose words a wait polls.
///
/// Fails, with an error, where tables name rows that they do not have, or where
/// an operand is packets in one task of a body and not in another, on a GPU.
FailureOr<SmallVector<llvm::BitVector>> findPacketOperands(KernelOp kernel);

/// Checks that arguments of bodies, which are in the kernel's order, carry
/// `ark.packets` where `packets` says that they are packets. Other arguments
/// carry it on a cpu alone: a task may put packets for which nobody polls.
LogicalResult verifyPacketArguments(KernelOp kernel,
                                    ArrayRef<llvm::BitVector> packets,
                                    ArrayRef<FunctionOpInterface> bodies);

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_PACKETOPERANDS_H
