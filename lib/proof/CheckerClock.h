//===- CheckerClock.h - Vector clocks of many lanes -------------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERCLOCK_H
#define ARK_LIB_PROOF_CHECKERCLOCK_H

#include "mlir/Support/LLVM.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

#include <array>

namespace mlir::ark::checker {

/// For every lane, the number of its items that have happened for certain. A
/// clock consists of blocks of neighbouring lanes. Blocks of zeros are absent,
/// and clocks share equal blocks: in a world of many ranks, a lane mostly knows
/// of the lanes of its own rank.
class Clock {
public:
  static constexpr unsigned kLanes = 128;
  using Block = std::array<uint32_t, kLanes>;
  using Allocator = llvm::SpecificBumpPtrAllocator<Block>;

  uint32_t get(unsigned lane) const;
  /// Sets the entry of a lane to the maximum with `value`.
  void raise(unsigned lane, uint32_t value, Allocator &allocator);
  /// Sets every entry to the maximum with that of another clock, which must not
  /// change any more.
  void join(const Clock &other, Allocator &allocator);
  /// Sets every entry of `prefixes` but that of the lane `except` to the
  /// minimum with that of the clock. No lane is excepted if `except` is ~0.
  void lower(MutableArrayRef<uint32_t> prefixes, unsigned except) const;

private:
  struct Entry {
    unsigned number;
    /// True if no other clock has the block.
    bool owned;
    Block *block;
  };
  Block &getOwned(Entry &entry, Allocator &allocator);
  Entry *find(unsigned number);

  /// By ascending number.
  SmallVector<Entry, 1> entries;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERCLOCK_H
