//===- races.cpp - Accesses of threads that nothing orders ----------------===//

#include "races.h"

#include "memory.h"
#include "shared.h"

#include <algorithm>
#include <vector>

using namespace simt;

namespace {
/// The granularity in bytes at which accesses are distinguished.
constexpr int64_t kUnit = 2;

/// The last accesses to a unit.
struct Unit {
  Stamp written, read;
  /// True if threads of the same warp, or any other threads, have also read
  /// since `read`.
  bool hasSameWarp = false, hasOthers = false;
};

std::vector<std::vector<Unit>> all;

/// The first stores of a thread since a barrier, and since bar.warp.sync.
struct Unordered {
  Stamp sinceBarrier, sinceWarp;
  uint32_t first = 0, firstInWarp = 0;
};
std::vector<Unordered> unordered;
} // namespace

void simt::beginRaces(int ctas, int64_t bytes) {
  all.assign(ctas, std::vector<Unit>(bytes / kUnit + 1));
  unordered.assign(ctas * kMaxThreads, {});
}

Stamp simt::getStamp() {
  return {getBarrierTime(), getWarpTime(), getMeetTime(), getThread()};
}

static bool isSameWarp(const Stamp &stamp) {
  return stamp.thread / kWarpSize == getThread() / kWarpSize;
}

bool simt::isOrdered(const Stamp &stamp) {
  return stamp.thread == getThread() || stamp.barrierTime != getBarrierTime() ||
         (isSameWarp(stamp) && stamp.warpTime != getWarpTime());
}

/// Accesses smaller than a unit are ignored, since they may touch disjoint
/// bytes.
template <typename Visit>
static void forEachUnit(const void *at, int64_t bytes, const Visit &visit) {
  if (bytes < kUnit)
    return;
  int64_t begin = static_cast<const char *>(at) - getShared();
  std::vector<Unit> &units = all[getCta()];
  for (int64_t unit = begin / kUnit; unit * kUnit < begin + bytes; ++unit)
    visit(units[unit], unit * kUnit);
}

static bool isNone(const Stamp &stamp) { return stamp.barrierTime == 0; }

static void checkWritten(const Unit &unit, int64_t byte, const char *what) {
  if (!isNone(unit.written) && !isOrdered(unit.written))
    fail("%s byte %ld of shared memory, which thread %d writes, with no "
         "barrier between",
         what, long(byte), unit.written.thread);
}

static void checkRead(const Unit &unit, int64_t byte) {
  if (isNone(unit.read) || unit.read.barrierTime != getBarrierTime())
    return;
  // A thread that has reached a shuffle has completed its earlier loads.
  if (isSameWarp(unit.read) && !unit.hasOthers &&
      unit.read.meetTime != getMeetTime())
    return;
  bool hasOther = unit.hasOthers ||
                  (unit.hasSameWarp && !isSameWarp(unit.read)) ||
                  (unit.hasSameWarp && unit.read.warpTime == getWarpTime());
  if (hasOther || !isOrdered(unit.read))
    fail("writes byte %ld of shared memory, which thread %d%s, with no "
         "barrier between",
         long(byte), unit.read.thread,
         unit.hasSameWarp || unit.hasOthers ? " and others read" : " reads");
}

void simt::noteSharedRead(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  forEachUnit(at, bytes, [&](Unit &unit, int64_t byte) {
    checkWritten(unit, byte, "reads");
    if (isNone(unit.read) || unit.read.barrierTime != now.barrierTime) {
      unit.read = now;
      unit.hasSameWarp = unit.hasOthers = false;
    } else if (!isSameWarp(unit.read)) {
      unit.hasOthers = true;
    } else {
      // bar.warp.sync orders the reads of the warp before it.
      bool isSinceSync = unit.read.warpTime == now.warpTime;
      unit.hasSameWarp =
          isSinceSync && (unit.hasSameWarp || unit.read.thread != now.thread);
      unit.read = now;
    }
  });
}

void simt::noteSharedWrite(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  forEachUnit(at, bytes, [&](Unit &unit, int64_t byte) {
    checkWritten(unit, byte, "writes");
    checkRead(unit, byte);
    unit.written = now;
  });
}

void simt::noteAsyncWrite(const void *at, int64_t bytes) {
  forEachUnit(at, bytes, [&](Unit &unit, int64_t byte) {
    checkWritten(unit, byte, "copies to");
    checkRead(unit, byte);
  });
}

//===----------------------------------------------------------------------===//
// Stores before a release
//===----------------------------------------------------------------------===//

void simt::noteStore() {
  Stamp stamp = getStamp();
  Unordered &own = unordered[getCta() * kMaxThreads + getThread()];
  if (own.sinceBarrier.barrierTime != stamp.barrierTime || !own.first) {
    own.sinceBarrier = own.sinceWarp = stamp;
    own.first = own.firstInWarp = getTime() + 1;
  } else if (own.sinceWarp.warpTime != stamp.warpTime) {
    own.sinceWarp = stamp;
    own.firstInWarp = getTime() + 1;
  }
}

uint32_t simt::getOrderedTime() {
  uint32_t time = getTime();
  int cta = getCta(), own = getThread();
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    const Unordered &other = unordered[cta * kMaxThreads + thread];
    if (thread == own || !other.first ||
        other.sinceBarrier.barrierTime != getBarrierTime())
      continue;
    bool isSame = thread / kWarpSize == own / kWarpSize;
    if (!isSame)
      time = std::min(time, other.first - 1);
    else if (other.sinceWarp.warpTime == getWarpTime())
      time = std::min(time, other.firstInWarp - 1);
  }
  return time;
}
