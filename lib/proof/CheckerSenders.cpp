//===- CheckerSenders.cpp - Work items that send packets ------------------===//

#include "lib/proof/CheckerSenders.h"

#include "lib/proof/CheckerCells.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

PacketSenders::PacketSenders(const ProgramAccesses &program,
                             ArrayRef<Lane> lanes, ArrayRef<Item> positions) {
  for (const BufferAccesses &buffer : program.getBuffers()) {
    if (!isPackets(buffer.root))
      continue;
    for (const Lane &lane : lanes)
      setOf.emplace_back(lane.items.size(), kNone);
    add(program, buffer, positions);
  }
}

/// Adds a set that has the last sender of every lane. Items of a lane happen in
/// order, so the last item implies all earlier items.
uint32_t PacketSenders::addSet(Senders senders) {
  llvm::sort(senders);
  Senders last;
  for (Item item : senders)
    if (!last.empty() && last.back().lane == item.lane)
      last.back() = item;
    else
      last.push_back(item);
  sets.push_back(std::move(last));
  return sets.size() - 1;
}

/// Returns the union of sets.
uint32_t PacketSenders::unite(SmallVectorImpl<uint32_t> &setIndices,
                              SetsOfKey &unions) {
  llvm::sort(setIndices);
  setIndices.erase(llvm::unique(setIndices), setIndices.end());
  if (setIndices.size() == 1)
    return setIndices.front();
  auto [entry, isNew] = unions.try_emplace(
      std::vector<uint32_t>(setIndices.begin(), setIndices.end()), 0);
  if (isNew) {
    Senders all;
    for (uint32_t setIndex : setIndices)
      llvm::append_range(all, sets[setIndex]);
    entry->second = addSet(std::move(all));
  }
  return entry->second;
}

/// Returns the work items that write each cell.
static std::vector<SmallVector<Item, 1>>
findWriters(const ProgramAccesses &program, const BufferAccesses &buffer,
            const CellPartition &partition, ArrayRef<Item> positions) {
  std::vector<SmallVector<Item, 1>> writersOf(partition.getNumCells());
  for (auto [index, access] : llvm::enumerate(buffer.accesses)) {
    if (!access->isWrite)
      continue;
    uint32_t first = program.getFirstVCTA(access->task),
             end = program.getFirstVCTA(access->task + 1);
    for (uint32_t vcta = first; vcta < end; ++vcta)
      partition.forEachCell(index, vcta - first, [&](uint32_t cell) {
        if (!llvm::is_contained(writersOf[cell], positions[vcta]))
          writersOf[cell].push_back(positions[vcta]);
      });
  }
  return writersOf;
}

void PacketSenders::add(const ProgramAccesses &program,
                        const BufferAccesses &buffer,
                        ArrayRef<Item> positions) {
  CellPartition partition(buffer.accesses);
  std::vector<SmallVector<Item, 1>> writersOf =
      findWriters(program, buffer, partition, positions);
  // The sets of senders of every work item: one for every access and distinct
  // boxes.
  std::map<Item, SmallVector<uint32_t>> setIndicesOf;
  for (auto [index, access] : llvm::enumerate(buffer.accesses)) {
    if (access->isWrite)
      continue;
    // Many vCTAs of a task read the same boxes.
    llvm::DenseMap<CellPartition::Boxes, uint32_t> setOfBoxes;
    uint32_t first = program.getFirstVCTA(access->task),
             end = program.getFirstVCTA(access->task + 1);
    for (uint32_t vcta = first; vcta < end; ++vcta) {
      auto [entry, isNew] =
          setOfBoxes.try_emplace(partition.getBoxes(index, vcta - first), 0);
      if (isNew) {
        Senders writers;
        partition.forEachCell(index, vcta - first, [&](uint32_t cell) {
          llvm::append_range(writers, writersOf[cell]);
        });
        entry->second = addSet(std::move(writers));
      }
      SmallVector<uint32_t> &setIndices = setIndicesOf[positions[vcta]];
      if (setIndices.empty() || setIndices.back() != entry->second)
        setIndices.push_back(entry->second);
    }
  }
  SetsOfKey unions;
  for (auto &[workItem, setIndices] : setIndicesOf)
    setOf[workItem.lane][workItem.item] = unite(setIndices, unions);
}

std::optional<uint32_t> PacketSenders::findSet(Item workItem) const {
  if (setOf.empty() || setOf[workItem.lane][workItem.item] == kNone)
    return std::nullopt;
  return setOf[workItem.lane][workItem.item];
}
