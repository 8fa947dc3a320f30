//===- CheckerExecution.h - Abstract execution of a schedule ----*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKEREXECUTION_H
#define ARK_LIB_PROOF_CHECKEREXECUTION_H

#include "lib/proof/CheckerSenders.h"

#include <map>

namespace mlir::ark::checker {

/// One iteration of a schedule under all-join semantics: a wait goes on when
/// all signals of its semaphore were given, and a run that receives packets
/// when all runs that send them have happened. As no wait ever un-becomes
/// ready, all interleavings get equally far and one of them tells of all; and
/// what a lane knows at an item is the same in all of them.
class Execution {
public:
  /// `places` says which item runs a vCTA. All three must outlive this.
  Execution(ScheduleOp schedule, const ProgramAccesses &program,
            ArrayRef<Lane> lanes, ArrayRef<Item> places);

  /// Runs all lanes. Fails with an error that shows a cycle of waits.
  LogicalResult run();

  /// The clock of a lane at an item: how many items of every lane have happened
  /// for certain.
  uint32_t getClockNumber(unsigned lane, unsigned item) const;
  /// Whether whatever a lane did at an item has happened.
  bool knows(uint32_t clock, unsigned lane, unsigned item) const {
    return clocks[clock * lanes.size() + lane] > item;
  }

private:
  struct Semaphore {
    SemaphoreOp op;
    int64_t missing;
    std::vector<uint32_t> clock;
    SmallVector<unsigned> waiting;
  };
  /// The clock of a lane from an item on.
  struct Epoch {
    unsigned firstItem;
    uint32_t clock;
  };

  Semaphore *getSemaphore(Operation *item, bool &signals, bool &waits);
  bool hasHappened(Item item) const { return next[item.lane] > item.item; }
  std::optional<Item> findMissingSender(unsigned lane) const;
  bool step(unsigned lane);
  void signal(unsigned lane, Semaphore &semaphore);
  void acquire(unsigned lane, const Semaphore &semaphore);
  bool isStuck(unsigned lane) const {
    return next[lane] < lanes[lane].items.size();
  }
  std::optional<Item> findMissingSignal(StringRef semaphore) const;
  std::string describeWait(unsigned lane) const;
  LogicalResult reportDeadlock();

  ArrayRef<Lane> lanes;
  PacketSenders senders;
  std::vector<Semaphore> semaphores;
  llvm::StringMap<unsigned> semaphoreNumbers;
  /// `lanes.size()` entries each.
  std::vector<uint32_t> clocks;
  std::vector<std::vector<Epoch>> epochs;
  std::vector<unsigned> next;
  /// Lanes that have signalled at the barrier at which they stand.
  std::vector<bool> arrived;
  SmallVector<unsigned> ready;
  /// Lanes that want packets which an item sends.
  std::map<Item, SmallVector<unsigned>> receivers;
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKEREXECUTION_H
