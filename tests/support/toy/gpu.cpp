// A toy GPU on the host. A CTA is a thread of the host, and its threads are
// fibers of that thread. Warps have 16 threads.
//
// A kernel is compiled for the host. Its entry is `toy_kernel`; its
// instructions are the functions of this file, with the names that MLIR's
// conversion of GPU ops to SPIR-V calls.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <time.h>
#include <ucontext.h>
#include <vector>

enum ContextField : int {
#define ARK_CONTEXT_FIELD(name, value) name = value,
#include "passes/kernel/KernelAbi.def"
};
#define ARK_CONSTANT(name, value) static constexpr int64_t name = value;
#include "passes/kernel/KernelAbi.def"

#ifndef TOY_WARPS
#error "TOY_WARPS is the number of warps of a CTA"
#endif

extern "C" void toy_kernel(void *context);

namespace {
constexpr int kWarpSize = 16, kThreads = TOY_WARPS * kWarpSize;
constexpr size_t kStackBytes = 256 << 10;

// A barrier of threads, each of which may leave a value for the others.
struct Meeting {
  int arrived = 0;
  uint64_t generation = 0;
  uint64_t values[2][kThreads] = {};
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  bool ended = false;
};

struct Cta {
  void run();
  void yield();
  // Waits for `count` threads. Returns the values that they left.
  const uint64_t *meet(Meeting &meeting, int count, int index, uint64_t value);

  void *kernelContext;
  uint64_t block;
  int current = 0;
  ucontext_t scheduler;
  std::vector<Fiber> fibers = std::vector<Fiber>(kThreads);
  Meeting all, warps[TOY_WARPS];
};

thread_local Cta *cta;

void runFiber() {
  toy_kernel(cta->kernelContext);
  cta->fibers[cta->current].ended = true;
}

void Cta::yield() { swapcontext(&fibers[current].context, &scheduler); }

void Cta::run() {
  cta = this;
  for (Fiber &fiber : fibers) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, runFiber, 0);
  }
  while (!std::all_of(fibers.begin(), fibers.end(),
                      [](Fiber &fiber) { return fiber.ended; }))
    for (current = 0; current < kThreads; ++current)
      if (!fibers[current].ended)
        swapcontext(&scheduler, &fibers[current].context);
}

const uint64_t *Cta::meet(Meeting &meeting, int count, int index,
                          uint64_t value) {
  uint64_t generation = meeting.generation;
  // The values of the next meeting have the other half, since threads may still
  // read these.
  uint64_t *values = meeting.values[generation % 2];
  values[index] = value;
  if (++meeting.arrived == count) {
    meeting.arrived = 0;
    ++meeting.generation;
  }
  while (meeting.generation == generation)
    yield();
  return values;
}

template <typename T>
T shuffle(T value, int from) {
  uint64_t bits = 0, result;
  std::memcpy(&bits, &value, sizeof(T));
  int warp = cta->current / kWarpSize;
  result = cta->meet(cta->warps[warp], kWarpSize, cta->current % kWarpSize,
                     bits)[from];
  std::memcpy(&value, &result, sizeof(T));
  return value;
}
} // namespace

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

uint64_t get_local_id(unsigned) { return cta->current; }
uint64_t get_group_id(unsigned) { return cta->block; }
void barrier(unsigned) { cta->meet(cta->all, kThreads, cta->current, 0); }

#define SHUFFLES(type)                                                         \
  type sub_group_shuffle(type value, unsigned thread) {                        \
    return shuffle(value, thread);                                             \
  }                                                                            \
  type sub_group_shuffle_xor(type value, unsigned mask) {                      \
    return shuffle(value, (cta->current % kWarpSize) ^ mask);                  \
  }
SHUFFLES(int)
SHUFFLES(long)
SHUFFLES(float)
SHUFFLES(double)

extern "C" int64_t toy_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

extern "C" void toy_pause() {
  timespec time{0, 1000};
  nanosleep(&time, nullptr);
}

extern "C" int toy_any(int predicate) {
  const uint64_t *votes =
      cta->meet(cta->all, kThreads, cta->current, predicate != 0);
  return std::any_of(votes, votes + kThreads,
                     [](uint64_t vote) { return vote != 0; });
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

// Runs a CTA: the entry that the driver of processors calls, once for each
// lane.
extern "C" int ark_kernel(const void *context, int64_t lane) {
  uint64_t copy[kContextWords];
  std::memcpy(copy, context, sizeof(copy));
  std::vector<int> codes(lane + 1);
  copy[kCodes] = reinterpret_cast<uint64_t>(codes.data());
  Cta block;
  block.kernelContext = copy;
  block.block = lane;
  block.run();
  return codes[lane];
}
