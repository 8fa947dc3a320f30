//===- CheckerClock.cpp - Vector clocks of many lanes ---------------------===//

#include "lib/proof/CheckerClock.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark::checker;

/// Returns the first entry whose number is at least `number`.
Clock::Entry *Clock::find(unsigned number) {
  return llvm::partition_point(
      entries, [&](const Entry &entry) { return entry.number < number; });
}

uint32_t Clock::get(unsigned lane) const {
  const Entry *entry = const_cast<Clock *>(this)->find(lane / kLanes);
  if (entry == entries.end() || entry->number != lane / kLanes)
    return 0;
  return (*entry->block)[lane % kLanes];
}

/// Returns the block of an entry, which the clock may change: copies a block
/// that other clocks share first.
Clock::Block &Clock::getOwned(Entry &entry, Allocator &allocator) {
  if (!entry.owned) {
    entry.block = new (allocator.Allocate()) Block(*entry.block);
    entry.owned = true;
  }
  return *entry.block;
}

void Clock::raise(unsigned lane, uint32_t value, Allocator &allocator) {
  unsigned number = lane / kLanes;
  Entry *entry = find(number);
  if (entry == entries.end() || entry->number != number)
    entry = entries.insert(
        entry, Entry{number, true, new (allocator.Allocate()) Block()});
  if ((*entry->block)[lane % kLanes] < value)
    getOwned(*entry, allocator)[lane % kLanes] = value;
}

void Clock::join(const Clock &other, Allocator &allocator) {
  for (const Entry &theirs : other.entries) {
    Entry *mine = find(theirs.number);
    if (mine == entries.end() || mine->number != theirs.number) {
      entries.insert(mine, Entry{theirs.number, false, theirs.block});
      continue;
    }
    if (mine->block == theirs.block)
      continue;
    auto isBelow = [](const Block &a, const Block &b) {
      return llvm::all_of(llvm::zip(a, b), [](auto pair) {
        return std::get<0>(pair) <= std::get<1>(pair);
      });
    };
    if (isBelow(*theirs.block, *mine->block))
      continue;
    if (isBelow(*mine->block, *theirs.block)) {
      *mine = Entry{theirs.number, false, theirs.block};
      continue;
    }
    Block &block = getOwned(*mine, allocator);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      block[lane] = std::max(block[lane], (*theirs.block)[lane]);
  }
}

void Clock::lower(MutableArrayRef<uint32_t> prefixes, unsigned except) const {
  uint32_t kept = except < prefixes.size() ? prefixes[except] : 0;
  size_t begin = 0;
  auto clear = [&](size_t end) {
    for (; begin < std::min(end, prefixes.size()); ++begin)
      prefixes[begin] = 0;
  };
  for (const Entry &entry : entries) {
    clear(size_t(entry.number) * kLanes);
    size_t end = std::min(begin + kLanes, prefixes.size());
    for (size_t lane = 0; begin < end; ++begin, ++lane)
      prefixes[begin] = std::min(prefixes[begin], (*entry.block)[lane]);
  }
  clear(prefixes.size());
  if (except < prefixes.size())
    prefixes[except] = kept;
}
