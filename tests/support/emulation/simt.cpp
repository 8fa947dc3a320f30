//===- simt.cpp - Launches: CTAs and fibers take turns --------------------===//

#include "simt.h"

#include "copies.h"
#include "memory.h"
#include "network.h"
#include "ports.h"
#include "races.h"
#include "shared.h"
#include "state.h"
#include "warpgroups.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>

using namespace simt;

namespace {
constexpr size_t kStackBytes = 256 * 1024;
/// The duration of a turn of a CTA, by the kernel's clock.
constexpr int64_t kTurnNanoseconds = 200;
/// After this many turns of each CTA without progress, the clock runs twice as
/// fast. A deadline of two seconds passes after 17 such steps, and a store
/// becomes visible after at most 2^12 polls, so that no lane misses a store.
constexpr int kIdleTurnLimit = 256;
/// Later than any deadline that could end the launch.
constexpr int64_t kMostNanoseconds = int64_t(1) << 50;
} // namespace

Launch *simt::launch = nullptr;

Cta::Cta(int index, int part, int indexInPart, int threads)
    : index(index), part(part), indexInPart(indexInPart), threads(threads),
      warps((threads + getWarpSize() - 1) / getWarpSize()),
      warpgroups((threads + kWarpgroupSize - 1) / kWarpgroupSize) {
  warpTimes.resize(warps.size());
  convergenceTimes.resize(warps.size());
  auto prepare = [](std::vector<Convergence> &all, int size) {
    for (Convergence &point : all) {
      point.args.resize(size);
      point.results.resize(size);
    }
  };
  prepare(warps, getWarpSize());
  prepare(warpgroups, kWarpgroupSize);
  stacks = static_cast<char *>(
      mmap(nullptr, kStackBytes * threads, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

Cta::~Cta() { munmap(stacks, kStackBytes * threads.size()); }

int simt::getThread() { return currentCta().current; }
int simt::getCta() { return currentCta().index; }
static int getDeviceOf(const Cta &cta) {
  return launch->parts[cta.part].device;
}
int simt::getDevice() { return getDeviceOf(currentCta()); }
int simt::getCtaOfDevice() { return currentCta().indexInPart; }
int simt::getWarpSize() { return launch->warpSize; }
int simt::getSite() { return currentThread().site; }
Mutation simt::getMutation() { return currentThread().mutation; }
int64_t simt::getClock() { return launch->clock; }
uint64_t simt::getTurn() { return launch->turn; }
void simt::noteProgress() { launch->hasProgress = true; }

uint32_t simt::draw() {
  // SplitMix64.
  uint64_t x = launch->random += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x >> 32;
}
bool simt::happens(uint32_t percent) { return draw() % 100 < percent; }

void simt::suspend() { switchFibers(currentThread().fiber, launch->scheduler); }
void simt::yield() { suspend(); }

std::string simt::describeCta(const Cta &cta) {
  std::string text = "CTA " + std::to_string(cta.indexInPart);
  if (launch->parts.size() > 1)
    text = "GPU " + std::to_string(getDeviceOf(cta)) + ": " + text;
  return text;
}

void simt::fail(const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  launch->failure = describeCta(currentCta()) + ": thread " +
                    std::to_string(getThread()) + ": " + text + " [site " +
                    std::to_string(getSite()) + "]";
  // The scheduler does not resume any thread.
  suspend();
  __builtin_unreachable();
}

void simt_enter(int site) {
  Thread &thread = currentThread();
  thread.site = site;
  thread.mutation = Mutation(launch->mutations[site]);
  launch->executed[site] = 1;
}

static void runThread() {
  Cta &cta = currentCta();
  const Part &part = launch->parts[cta.part];
  part.kernel(part.context);
  currentThread().state = State::Ended;
  noteProgress();
  ++cta.ended;
  openBarrier(cta);
  suspend();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

static bool isPaused(const Cta &cta, size_t thread) {
  return cta.pausedRounds > 0 && int(thread / getWarpSize()) == cta.pausedWarp;
}

/// Runs every runnable thread once, except those of a paused warp. Returns true
/// if the CTA has a runnable thread.
static bool runRound(Cta &cta) {
  size_t count = cta.threads.size(), first = draw() % count;
  bool isUpward = draw() % 2, hasRun = false, hasSkipped = false;
  if (cta.pausedRounds > 0) {
    --cta.pausedRounds;
  } else if (happens(2)) {
    cta.pausedWarp = draw() % cta.warps.size();
    cta.pausedRounds = 1 << draw() % 7;
  }
  for (size_t i = 0; i < count; ++i) {
    size_t next = (isUpward ? first + i : first + count - i) % count;
    if (cta.threads[next].state != State::Ready)
      continue;
    if (isPaused(cta, next)) {
      hasSkipped = true;
      continue;
    }
    hasRun = true;
    cta.current = next;
    switchFibers(launch->scheduler, cta.threads[next].fiber);
    if (!launch->failure.empty())
      return true;
  }
  if (!hasRun)
    cta.pausedRounds = 0;
  return hasRun || hasSkipped;
}

static bool hasEnded(const Cta &cta) {
  return cta.ended == (int)cta.threads.size();
}

static void runTurn(Cta &cta) {
  launch->cta = &cta;
  enterShared(cta.index);
  bool canGoOn = runRound(cta);
  if (launch->failure.empty() && !canGoOn)
    launch->failure =
        describeCta(cta) + ": no thread can go on:" + describeThreads(cta);
  if (launch->failure.empty() && hasEnded(cta))
    if (const char *left = describeOpenCopies())
      launch->failure = describeCta(cta) + ": " + left;
}

/// The number of CTAs that the GPU holds at once; 0 for all of a launch.
static int room = 0;

/// Begins CTAs in their order, as long as the GPU has room for them.
static void beginCtas() {
  int resident = 0;
  for (std::unique_ptr<Cta> &cta : launch->ctas) {
    if (hasEnded(*cta))
      continue;
    if (room > 0 && resident == room)
      return;
    cta->hasBegun = true;
    ++resident;
  }
}

/// Returns the CTA that runs next; null if all have ended. Pauses random CTAs
/// for some turns.
static Cta *pickCta() {
  beginCtas();
  size_t count = launch->ctas.size(), first = draw() % count;
  Cta *behind = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Cta &cta = *launch->ctas[(first + i) % count];
    if (hasEnded(cta) || !cta.hasBegun)
      continue;
    behind = &cta;
    if (cta.pausedTurns > 0) {
      --cta.pausedTurns;
      continue;
    }
    if (count > 1 && happens(3))
      cta.pausedTurns = 1 << draw() % 8;
    return &cta;
  }
  return behind;
}

/// Runs all turns. The lock is released between turns, for the host.
static void runTurns(std::mutex &lock) {
  int idleTurns = 0, idleTurnLimit = kIdleTurnLimit * launch->ctas.size();
  int64_t step = kTurnNanoseconds;
  while (true) {
    std::lock_guard<std::mutex> guard(lock);
    Cta *cta = pickCta();
    if (!launch->failure.empty())
      return;
    if (!cta) {
      if (const char *left = endNetwork())
        launch->failure = left;
      return;
    }
    launch->hasProgress = false;
    ++launch->turn;
    runTurn(*cta);
    proceedMessages();
    proceedPorts();
    if (launch->hasProgress) {
      idleTurns = 0;
      step = kTurnNanoseconds;
    } else if (takeWaitForHost()) {
      sched_yield();
    } else if (++idleTurns % idleTurnLimit == 0) {
      step *= 2;
    }
    launch->clock += step;
    if (launch->clock > kMostNanoseconds)
      launch->failure = "no thread makes progress, and no deadline ends that";
  }
}

//===----------------------------------------------------------------------===//
// Functions for Python
//===----------------------------------------------------------------------===//

static std::mutex mutex;
static std::string lastFailure;

std::mutex &simt::getMutex() { return mutex; }

/// Adds the CTAs of one of the kernels.
static void addCtas(int part, int threads) {
  for (int i = 0; i < launch->parts[part].ctas; ++i) {
    auto cta = std::make_unique<Cta>(launch->ctas.size(), part, i, threads);
    for (int j = 0; j < threads; ++j)
      cta->threads[j].fiber.begin(cta->stacks + j * kStackBytes, kStackBytes,
                                  runThread);
    launch->ctas.push_back(std::move(cta));
  }
}

/// Kernels start at different times.
static void skewParts() {
  for (size_t part = 0; part < launch->parts.size(); ++part) {
    int turns = draw() % (1 << draw() % 12);
    for (std::unique_ptr<Cta> &cta : launch->ctas)
      if (cta->part == int(part))
        cta->pausedTurns = turns;
  }
}

extern "C" {
/// Runs kernels concurrently; returns 0, or 1 on failure.
int simt_launch(const Part *parts, int count, int threads, int warpSize,
                int64_t sharedBytes, uint64_t seed, const uint8_t *mutations,
                uint8_t *executed) {
  Launch own{{parts, parts + count},
             {},
             nullptr,
             {},
             seed,
             mutations,
             executed,
             warpSize,
             {},
             false,
             1};
  {
    std::lock_guard<std::mutex> guard(mutex);
    launch = &own;
    std::vector<int> deviceOf;
    for (int part = 0; part < count; ++part) {
      addCtas(part, threads);
      deviceOf.resize(own.ctas.size(), parts[part].device);
    }
    int ctas = own.ctas.size();
    beginMemory(deviceOf);
    beginNetwork();
    beginPorts();
    if (count > 1)
      skewParts();
    beginShared(ctas, threads, sharedBytes);
    beginRaces(ctas);
    beginCopies(ctas, threads);
    beginWarpgroups(ctas, threads);
  }
  runTurns(mutex);
  std::lock_guard<std::mutex> guard(mutex);
  endMemory();
  endShared();
  launch = nullptr;
  lastFailure = own.failure;
  return !own.failure.empty();
}

/// Sets the number of CTAs that the GPU holds at once, for later launches; 0
/// for all CTAs of a launch.
void simt_set_room(int ctas) { room = ctas; }

/// Returns the failure of the last launch, or an empty string.
const char *simt_get_failure() { return lastFailure.c_str(); }
}

bool simt::isOnStack(const void *address) {
  for (const std::unique_ptr<Cta> &cta : launch->ctas) {
    auto *at = static_cast<const char *>(address);
    if (at >= cta->stacks &&
        at < cta->stacks + kStackBytes * cta->threads.size())
      return true;
  }
  return false;
}
