//===- CheckerSenders.h - Runs that send packets to a run -------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERSENDERS_H
#define ARK_LIB_PROOF_CHECKERSENDERS_H

#include "lib/proof/CheckerLanes.h"

namespace mlir::ark::checker {

/// For every run, the runs that send it packets between tasks. The senders
/// follow from the cells of the packets buffer: the writer of a cell sends to
/// every reader of the cell.
class PacketSenders {
public:
  PacketSenders() = default;
  PacketSenders(const ProgramAccesses &program, ArrayRef<Lane> lanes,
                ArrayRef<Item> positions);

  /// Returns the runs that send to the run at an item: the last run of every
  /// lane.
  ArrayRef<Item> getSendersOf(Item run) const;

private:
  using Senders = SmallVector<Item, 2>;

  void add(const ProgramAccesses &program, const BufferAccesses &buffer,
           ArrayRef<Item> positions);

  /// Senders by lane and item. Empty if a program has no packets.
  std::vector<std::vector<Senders>> senders;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERSENDERS_H
