//===- PacketMatch.h - What can be handed over as packets -------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PACKETMATCH_H
#define ARK_PASSES_MEMORY_PACKETMATCH_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// An operand of a task, by its number: operands move when others are added.
struct TaskUse {
  TaskOp task;
  unsigned number = 0;

  TaskUse() = default;
  explicit TaskUse(OpOperand *operand)
      : task(cast<TaskOp>(operand->getOwner())),
        number(operand->getOperandNumber()) {}
  OpOperand *get() const {
    return &const_cast<TaskOp &>(task)->getOpOperand(number);
  }
  /// What the operand is in the body.
  BlockArgument getTile() const;
  explicit operator bool() const { return static_cast<bool>(task); }
};

/// What the vCTAs of a task receive at once: a region of the buffer, with what
/// several operands read of it.
struct PacketReceipt {
  SmallVector<TaskUse, 1> uses;
  RegionAttr region;

  TaskOp getTask() const { return uses.front().task; }
};

/// An intermediate that one task writes, and tasks that read rows of it.
struct HandOver {
  memref::AllocOp buffer;
  TaskUse writer;
  /// The ops of the writer's body that make the values, each its own.
  SmallVector<linalg::LinalgOp> makers;
  SmallVector<PacketReceipt> receipts;
  bool hasOtherReaders = false;
  int64_t offset = 0;

  /// Nothing where the buffer is better left as it is. It has `maxElements` at
  /// most, in wide packets half as many that a vCTA receives.
  static std::optional<HandOver> match(memref::AllocOp buffer,
                                       int64_t maxElements);
  /// Whether a packet has 64 bits.
  bool isWide();

private:
  void addReader(ArrayRef<TaskUse> uses, int64_t maxElements);
};

/// The type that a vCTA has a region of an operand as.
MemRefType getTileType(MemRefType operand, RegionAttr region);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PACKETMATCH_H
