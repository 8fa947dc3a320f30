//===- CheckerSenders.h - Work items that send packets ----------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERSENDERS_H
#define ARK_LIB_PROOF_CHECKERSENDERS_H

#include "lib/proof/CheckerLanes.h"

#include <map>
#include <optional>

namespace mlir::ark::checker {

/// For every work item, the work items that send it task packets. The senders
/// follow from the cells of the packets buffer: the writer of a cell sends to
/// every reader of the cell.
class PacketSenders {
public:
  PacketSenders() = default;
  PacketSenders(const ProgramAccesses &program, ArrayRef<Lane> lanes,
                ArrayRef<Item> positions);

  /// Returns the set of work items that send to a work item, or nothing without
  /// senders. Work items that receive the same packets share a set.
  std::optional<uint32_t> findSet(Item workItem) const;
  /// Returns the work items of a set: the last one of every lane.
  ArrayRef<Item> getSenders(uint32_t set) const { return sets[set]; }
  uint32_t getNumSets() const { return sets.size(); }

private:
  using Senders = std::vector<Item>;
  /// Unions of sets, by the sets that they consist of.
  using SetsOfKey = std::map<std::vector<uint32_t>, uint32_t>;

  void add(const ProgramAccesses &program, const BufferAccesses &buffer,
           ArrayRef<Item> positions);
  uint32_t addSet(Senders senders);
  uint32_t unite(SmallVectorImpl<uint32_t> &setIndices, SetsOfKey &unions);

  std::vector<Senders> sets;
  /// Sets by lane and item, `kNone` for work items without senders. Empty if a
  /// program has no packets.
  static constexpr uint32_t kNone = ~0u;
  std::vector<std::vector<uint32_t>> setOf;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERSENDERS_H
