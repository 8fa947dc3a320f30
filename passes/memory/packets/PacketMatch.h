//===- PacketMatch.h - Find intermediates to send as packets ----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PACKETS_PACKETMATCH_H
#define ARK_PASSES_MEMORY_PACKETS_PACKETMATCH_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::ark {

/// An operand of a task, by its index. The index stays valid when operands are
/// appended.
struct TaskUse {
  TaskOp task;
  unsigned index = 0;

  TaskUse() = default;
  explicit TaskUse(OpOperand *operand)
      : task(cast<TaskOp>(operand->getOwner())),
        index(operand->getOperandNumber()) {}
  OpOperand *get() const {
    return &const_cast<TaskOp &>(task)->getOpOperand(index);
  }
  /// Returns the block argument of the operand.
  BlockArgument getTile() const;
  explicit operator bool() const { return static_cast<bool>(task); }
};

/// A region of packets that each vCTA of a task receives at once, and the
/// operands that read this region or a subregion.
struct PacketReceipt {
  SmallVector<TaskUse, 1> uses;
  RegionAttr region;
  /// Packets that a thread loads at once.
  int64_t perLoad = 0;

  /// Returns the number of loads of a vCTA.
  int64_t getNumLoads() const {
    return llvm::product_of(region.getSizes()) / perLoad;
  }
  TaskOp getTask() const { return uses.front().task; }
};

/// The tasks of a program by the root buffers of their operands.
class TaskBuffers {
public:
  explicit TaskBuffers(ProgramOp program);

  /// Returns true if `reader` depends on `writer` through a third task as well.
  /// The results of `writer`, such as a residual, are then complete long before
  /// `reader` runs, so that packets would save no time.
  ///
  /// `buffer` is the out that `reader` reads. If one program stands for all
  /// ranks, `writer` stands for a different rank for each rank that it puts to.
  /// Between ranks, only paths that begin at `buffer` are hence paths from the
  /// rank that wrote it.
  bool comesLater(TaskOp reader, TaskOp writer, Value buffer) const;

private:
  llvm::DenseMap<Operation *, unsigned> positions;
  /// Root buffers of the outs of every task.
  std::vector<SmallVector<Value>> outs;
  /// Positions of the tasks with an operand in a root buffer, ascending.
  llvm::DenseMap<Value, SmallVector<unsigned>> usersOf;
  bool isRepresentative;
};

/// Limits the bytes of temporaries of each task. Received packets need a
/// temporary for their values, in addition to the temporaries of the body.
class TemporaryLimit {
public:
  explicit TemporaryLimit(int64_t bytes) : limit(bytes) {}

  /// If a temporary for a receipt fits into the limit of its task, counts its
  /// bytes and returns true.
  bool admit(const PacketReceipt &receipt);

private:
  int64_t limit;
  llvm::DenseMap<Operation *, int64_t> bytesOf;
};

/// An intermediate that one task writes, and the tasks that receive parts of
/// it.
struct HandOff {
  memref::AllocOp buffer;
  TaskUse writer;
  /// Ops of the writer's body that compute the values. Each op writes a
  /// disjoint subview of the tile.
  SmallVector<DestinationStyleOpInterface> producers;
  SmallVector<PacketReceipt> receipts;
  bool hasOtherReaders = false;
  /// Rank of the receivers. The words lie in the part of this rank.
  int64_t rank = 0;
  int64_t offset = 0;

  /// Returns nothing if the buffer should not become packets. The limit
  /// `maxElements` applies to the buffer; with wide packets, half the limit
  /// applies to the region that a vCTA receives. `temporaries` counts the
  /// receipts of the result.
  static std::optional<HandOff> match(memref::AllocOp buffer,
                                      int64_t maxElements,
                                      const TaskBuffers &buffers,
                                      TemporaryLimit &temporaries);
  /// Returns true if a packet has 64 bits.
  bool isWide();

private:
  void addReader(ArrayRef<TaskUse> uses, int64_t maxElements,
                 const TaskBuffers &buffers, TemporaryLimit &temporaries);
};

/// Returns the type of the tile through which a vCTA accesses a region of an
/// operand.
MemRefType getTileType(MemRefType operand, RegionAttr region);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PACKETS_PACKETMATCH_H
