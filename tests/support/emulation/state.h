//===- state.h - State of the CTAs and threads of a launch ------*- C++ -*-===//
//
// Internal to the emulator's files on scheduling.

#ifndef ARK_TESTS_EMULATION_STATE_H
#define ARK_TESTS_EMULATION_STATE_H

#include "fibers.h"
#include "simt.h"

#include <memory>
#include <string>
#include <vector>

namespace simt {

enum class State { Ready, AtBarrier, InWarp, InWarpgroup, Ended };

struct Thread {
  Fiber fiber;
  State state = State::Ready;
  int site = 0;
  Mutation mutation = Mutation::None;
};

/// The instruction that the threads of a warp or of a warpgroup
/// have reached.
struct Convergence {
  const char *name = nullptr;
  uint64_t mask = 0;
  int site = 0, arrived = 0;
  std::vector<Slot *> args, results;
};

/// One launch, on a GPU.
struct Part {
  void (*kernel)(void *);
  void *context;
  int64_t ctas;
  int64_t device;
};

struct Cta {
  Cta(int index, int part, int indexInPart, int threads);
  ~Cta();

  int index, part, indexInPart;
  std::vector<Thread> threads;
  std::vector<Convergence> warps, warpgroups;
  char *stacks;
  int current = 0, atBarrier = 0, ended = 0;
  bool any = false, result = false, hasBegun = false;
  /// The launch begins like after a barrier, at a time other than 0.
  uint32_t barrierTime = 1;
  std::vector<uint32_t> warpTimes, convergenceTimes;
  /// The number of turns that this CTA skips, and of rounds that one of its
  /// warps skips.
  int pausedTurns = 0, pausedRounds = 0, pausedWarp = 0;
};

struct Launch {
  std::vector<Part> parts;
  std::vector<std::unique_ptr<Cta>> ctas;
  Cta *cta = nullptr;
  Fiber scheduler;
  uint64_t random;
  const uint8_t *mutations;
  uint8_t *executed;
  int warpSize;
  std::string failure;
  bool hasProgress = false;
  int64_t clock = 1;
  uint64_t turn = 1;
};

/// The launch that runs; null between launches.
extern Launch *launch;

inline Cta &currentCta() { return *launch->cta; }
inline Thread &currentThread() {
  return launch->cta->threads[launch->cta->current];
}

/// Returns from the running fiber to the scheduler.
void suspend();

/// Resumes the remaining threads if all have reached the barrier.
void openBarrier(Cta &cta);

/// Returns the name of a CTA, with its GPU if there are several.
std::string describeCta(const Cta &cta);

/// Describes the position of the threads of each warp.
std::string describeThreads(const Cta &cta);

} // namespace simt

#endif // ARK_TESTS_EMULATION_STATE_H
