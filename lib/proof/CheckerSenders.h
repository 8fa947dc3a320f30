//===- CheckerSenders.h - Which runs send packets to a run ------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERSENDERS_H
#define ARK_LIB_PROOF_CHECKERSENDERS_H

#include "lib/proof/CheckerLanes.h"

namespace mlir::ark::checker {

/// The runs that send what a run receives as packets between tasks. They follow
/// from the cells of the packets buffer: who writes a cell sends to whoever
/// reads it.
class PacketSenders {
public:
  PacketSenders() = default;
  PacketSenders(const ProgramAccesses &program, ArrayRef<Lane> lanes,
                ArrayRef<Item> places);

  /// The runs that send to the run at an item: of every lane the last one.
  ArrayRef<Item> getSendersOf(Item run) const;

private:
  using Senders = SmallVector<Item, 2>;

  void add(const ProgramAccesses &program, const BufferAccesses &buffer,
           ArrayRef<Item> places);

  /// By lane and item. Empty where a program has no packets.
  std::vector<std::vector<Senders>> senders;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERSENDERS_H
