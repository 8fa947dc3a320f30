//===- simt.cpp - Threads of a CTA, one after the other -------------------===//

#include "simt.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>

using namespace simt;

namespace {
constexpr size_t kStackBytes = 256 * 1024;

enum class State { Ready, AtBarrier, InWarp, Ended };

struct Thread {
  ucontext_t context;
  State state = State::Ready;
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

/// What the lanes of a warp have come to.
struct Warp {
  const char *name = nullptr;
  uint32_t mask = 0, arrived = 0;
  Slot *args[kWarpSize], *results[kWarpSize];
};

struct Cta {
  int number;
  void (*kernel)(void *);
  void *context;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  ucontext_t scheduler;
  int current = 0;
  int atBarrier = 0, ended = 0;
  bool any = false, result = false;
  /// Whether a thread did anything but look since the last round.
  bool moved = false;
  std::minstd_rand random;
  std::deque<std::function<void()>> copies;
  std::string failure;
};

thread_local Cta *cta;
/// Of the run: the first failure ends all of its CTAs.
std::atomic<bool> hasFailed;
std::mutex failureMutex;
std::string firstFailure;
} // namespace

/// Where the kernel's code looks for it.
extern "C" {
alignas(1024) thread_local char ark_shared_memory[kSharedBytes];
}

int simt::getThread() { return cta->current; }
int simt::getCta() { return cta->number; }
char *simt::getShared() { return ark_shared_memory; }

static Thread &self() { return cta->threads[cta->current]; }

std::vector<Copy> &simt::getOpenCopies() { return self().open; }
std::vector<std::vector<Copy>> &simt::getCopyGroups() { return self().groups; }

static void suspend() { swapcontext(&self().context, &cta->scheduler); }

void simt::fail(const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  cta->failure = text;
  // The scheduler does not come back to any thread.
  setcontext(&cta->scheduler);
  __builtin_unreachable();
}

void simt::yield() {
  if (hasFailed)
    fail("another CTA has failed");
  suspend();
}

void simt::copyLater(std::function<void()> copy) {
  if (cta->random() % 2)
    cta->copies.push_back(std::move(copy));
  else
    copy();
}

void simt::copySome() {
  if (cta->copies.empty())
    return;
  std::function<void()> copy = std::move(cta->copies.front());
  cta->copies.pop_front();
  copy();
}

static void openBarrier() {
  if (cta->atBarrier == 0 ||
      cta->atBarrier + cta->ended < (int)cta->threads.size())
    return;
  cta->result = cta->any;
  cta->any = false;
  cta->atBarrier = 0;
  for (Thread &thread : cta->threads)
    if (thread.state == State::AtBarrier)
      thread.state = State::Ready;
}

bool simt::meet(bool predicate) {
  cta->moved = true;
  cta->any |= predicate;
  ++cta->atBarrier;
  self().state = State::AtBarrier;
  openBarrier();
  suspend();
  return cta->result;
}

void simt::meetWarp(uint32_t mask, const char *name, Slot *args, Slot *results,
                    const Work &work) {
  cta->moved = true;
  int lane = cta->current % kWarpSize;
  int first = cta->current - lane;
  Warp &warp = cta->warps[cta->current / kWarpSize];
  if (!(mask >> lane & 1))
    fail("thread %d: %s with mask %#x, which it is not part of", cta->current,
         name, mask);
  if (warp.arrived == 0) {
    warp.name = name;
    warp.mask = mask;
  } else if (warp.name != name || warp.mask != mask) {
    fail("thread %d: %s of %#x, while others of its warp are at %s of %#x",
         cta->current, name, mask, warp.name, warp.mask);
  }
  warp.args[lane] = args;
  warp.results[lane] = results;
  warp.arrived |= 1u << lane;
  self().state = State::InWarp;
  if (warp.arrived != mask) {
    suspend();
    return;
  }
  work(warp.args, warp.results);
  warp.arrived = 0;
  for (int other = 0; other < kWarpSize; ++other)
    if (mask >> other & 1)
      cta->threads[first + other].state = State::Ready;
}

static void runThread() {
  cta->kernel(cta->context);
  cta->moved = true;
  self().state = State::Ended;
  ++cta->ended;
  openBarrier();
  suspend();
}

/// Why nobody can go on.
static std::string describeStop() {
  std::string text = "no thread can go on:";
  for (size_t i = 0; i < cta->threads.size(); i += kWarpSize) {
    int counts[4] = {};
    for (size_t j = i; j < std::min(i + kWarpSize, cta->threads.size()); ++j)
      ++counts[(int)cta->threads[j].state];
    const Warp &warp = cta->warps[i / kWarpSize];
    text += "\n  warp " + std::to_string(i / kWarpSize) + ": " +
            std::to_string(counts[1]) + " at a barrier, " +
            std::to_string(counts[2]) + " at " +
            (counts[2] ? warp.name : "nothing") + ", " +
            std::to_string(counts[3]) + " ended";
  }
  return text;
}

/// Threads take turns in an order that changes: who forgets a barrier gets what
/// another thread has not written yet.
static void schedule() {
  size_t count = cta->threads.size();
  while (cta->ended < (int)count) {
    cta->moved = false;
    bool isReady = false;
    size_t first = cta->random() % count;
    bool isUpward = cta->random() % 2;
    for (size_t i = 0; i < count; ++i) {
      size_t next = (isUpward ? first + i : first + count - i) % count;
      if (cta->threads[next].state != State::Ready)
        continue;
      isReady = true;
      cta->current = next;
      swapcontext(&cta->scheduler, &cta->threads[next].context);
      if (!cta->failure.empty())
        return;
    }
    if (!isReady) {
      cta->failure = describeStop();
      return;
    }
    if (!cta->moved)
      sched_yield();
  }
}

extern "C" {
/// Runs one CTA; 0, or 1 where it failed.
int simt_run(void (*kernel)(void *), void *context, int number, int threads) {
  Cta own;
  own.number = number;
  own.random.seed(number + 1);
  own.kernel = kernel;
  own.context = context;
  own.threads.resize(threads);
  own.warps.resize((threads + kWarpSize - 1) / kWarpSize);
  cta = &own;
  // Whoever reads what nobody wrote gets numbers that show.
  memset(ark_shared_memory, 0xff, kSharedBytes);
  size_t bytes = kStackBytes * threads;
  void *stacks = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (int i = 0; i < threads; ++i) {
    ucontext_t &context = own.threads[i].context;
    getcontext(&context);
    context.uc_stack.ss_sp = static_cast<char *>(stacks) + i * kStackBytes;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, runThread, 0);
  }
  schedule();
  munmap(stacks, bytes);
  cta = nullptr;
  if (own.failure.empty())
    return 0;
  std::lock_guard<std::mutex> lock(failureMutex);
  if (!hasFailed.exchange(true))
    firstFailure = "CTA " + std::to_string(number) + ": " + own.failure;
  return 1;
}

/// What ended the last run, if anything did; the next one begins afresh.
const char *simt_take_failure() {
  return hasFailed.exchange(false) ? firstFailure.c_str() : "";
}
}
