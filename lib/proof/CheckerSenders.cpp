//===- CheckerSenders.cpp - Runs that send packets to a run ---------------===//

#include "lib/proof/CheckerSenders.h"

#include "lib/proof/CheckerCells.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

PacketSenders::PacketSenders(const ProgramAccesses &program,
                             ArrayRef<Lane> lanes, ArrayRef<Item> positions) {
  for (const BufferAccesses &buffer : program.getBuffers()) {
    if (!isPackets(buffer.root))
      continue;
    senders.resize(lanes.size());
    for (auto [ofLane, lane] : llvm::zip(senders, lanes))
      ofLane.resize(lane.items.size());
    add(program, buffer, positions);
  }
}

/// Calls `visit(vcta, cell)` for all cells that vCTAs read, or write if
/// `writes`. Skips boxes that the previous vCTA of the same run has visited.
template <typename Visitor>
static void
forEachAccess(const ProgramAccesses &program, const BufferAccesses &buffer,
              const CellPartition &partition, ArrayRef<Item> positions,
              bool writes, Visitor visit) {
  for (auto [number, access] : llvm::enumerate(buffer.accesses)) {
    if (access->isWrite != writes)
      continue;
    uint32_t first = program.getFirstVCTA(access->task),
             end = program.getFirstVCTA(access->task + 1);
    for (uint32_t vcta = first; vcta < end; ++vcta) {
      bool isRepeated = vcta > first &&
                        positions[vcta] == positions[vcta - 1] &&
                        partition.getBoxes(number, vcta - first) ==
                            partition.getBoxes(number, vcta - first - 1);
      if (!isRepeated)
        partition.forEachCell(number, vcta - first,
                              [&](uint32_t cell) { visit(vcta, cell); });
    }
  }
}

void PacketSenders::add(const ProgramAccesses &program,
                        const BufferAccesses &buffer,
                        ArrayRef<Item> positions) {
  CellPartition partition(buffer.accesses);
  std::vector<SmallVector<Item, 1>> writersOf(partition.getNumCells());
  forEachAccess(program, buffer, partition, positions, /*writes=*/true,
                [&](uint32_t vcta, uint32_t cell) {
                  SmallVector<Item, 1> &writers = writersOf[cell];
                  if (!llvm::is_contained(writers, positions[vcta]))
                    writers.push_back(positions[vcta]);
                });
  std::vector<std::vector<std::set<Item>>> found(senders.size());
  for (auto [sets, ofLane] : llvm::zip(found, senders))
    sets.resize(ofLane.size());
  forEachAccess(program, buffer, partition, positions, /*writes=*/false,
                [&](uint32_t vcta, uint32_t cell) {
                  Item at = positions[vcta];
                  found[at.lane][at.item].insert(writersOf[cell].begin(),
                                                 writersOf[cell].end());
                });
  // Items of a lane happen in order, so the last item implies all earlier
  // items.
  for (auto [sets, ofLane] : llvm::zip(found, senders))
    for (auto [set, last] : llvm::zip(sets, ofLane))
      for (Item item : set) {
        if (!last.empty() && last.back().lane == item.lane)
          last.back() = item;
        else
          last.push_back(item);
      }
}

ArrayRef<Item> PacketSenders::getSendersOf(Item run) const {
  if (senders.empty())
    return {};
  return senders[run.lane][run.item];
}
