//===- CheckerExecution.h - Abstract execution of a schedule ----*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKEREXECUTION_H
#define ARK_LIB_PROOF_CHECKEREXECUTION_H

#include "lib/proof/CheckerClock.h"
#include "lib/proof/CheckerSenders.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace mlir::ark::checker {

/// Executes one iteration of a schedule in which waits need all signals. A wait
/// continues when all lanes have signalled its semaphore. A work item that
/// receives packets continues when all work items that send these packets have
/// happened. A wait that is ready stays ready, so all interleavings reach the
/// same end, and a lane has acquired the same items at an item in all
/// interleavings. Executing one interleaving is therefore enough.
class Execution {
public:
  /// `positions` has the work item of each vCTA. `program`, `lanes` and
  /// `positions` must outlive this object.
  Execution(ScheduleOp schedule, const ProgramAccesses &program,
            ArrayRef<Lane> lanes, ArrayRef<Item> positions);

  /// Runs all lanes. Fails with an error that shows a cycle of waits.
  LogicalResult run();

  /// Returns the index of the clock of a lane at a work item or signal.
  uint32_t getClockIndex(unsigned lane, unsigned item) const;
  /// Returns the clock with an index: for every lane, the number of its items
  /// that have happened for certain. The entry of the clock's own lane counts
  /// only what other lanes know. Items of one lane are ordered by their
  /// positions instead.
  const Clock &getClock(uint32_t index) const { return clocks[index]; }
  /// Returns true if an item of a lane has happened for certain, according to a
  /// clock.
  bool knows(uint32_t clock, unsigned lane, unsigned item) const {
    return clocks[clock].get(lane) > item;
  }

private:
  struct Semaphore {
    SemaphoreOp op;
    int64_t missing;
    Clock clock;
    SmallVector<unsigned> waiting;
    /// Indices of the clocks that signals have joined into `clock`.
    llvm::SmallDenseSet<uint32_t> joined;
  };
  /// The semaphores that a lane has acquired: those of `previous`, and one
  /// more. A work item may have a wait for each of many ranks, so that only the
  /// last of several acquisitions in turn has a clock.
  struct Acquisition {
    static constexpr uint32_t kNoClock = ~0u;
    uint32_t previous, semaphore;
    uint32_t clock = kNoClock;
  };
  /// The acquisition that precedes the items of a lane from one item on.
  struct ClockChange {
    unsigned firstItem;
    uint32_t acquisition;
  };

  Semaphore *getSemaphore(Operation *item, bool &signals, bool &waits);
  bool hasHappened(Item item) const { return next[item.lane] > item.item; }
  std::optional<Item> findMissingSender(unsigned lane) const;
  bool step(unsigned lane);
  void signal(unsigned lane, Semaphore &semaphore);
  void acquire(unsigned lane, const Semaphore &semaphore);
  uint32_t makeClock(unsigned lane);
  bool isStuck(unsigned lane) const {
    return next[lane] < lanes[lane].items.size();
  }
  std::optional<Item> findMissingSignal(StringRef semaphore) const;
  std::string describeWait(unsigned lane) const;
  LogicalResult reportDeadlock();

  ArrayRef<Lane> lanes;
  PacketSenders senders;
  std::vector<Semaphore> semaphores;
  llvm::StringMap<unsigned> semaphoreIndices;
  Clock::Allocator allocator;
  /// Lanes that have acquired the same semaphores in the same order share one
  /// clock.
  std::vector<Clock> clocks;
  /// Acquisition 0 stands for no semaphore.
  std::vector<Acquisition> acquisitions;
  /// The index of the acquisition of a semaphore, by the index of the previous
  /// acquisition and the index of the semaphore.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> acquired;
  /// The changes of every lane's clock, by ascending item.
  std::vector<std::vector<ClockChange>> clockChanges;
  std::vector<unsigned> next;
  /// For every set of senders, the length of a prefix of the set whose members
  /// have happened.
  mutable std::vector<uint32_t> happened;
  /// True for lanes that have signalled at the barrier at which they stand.
  std::vector<bool> arrived;
  SmallVector<unsigned> ready;
  /// For an item, the lanes that wait for its packets.
  std::map<Item, SmallVector<unsigned>> receivers;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKEREXECUTION_H
