//===- races.cpp - Accesses of threads that nothing orders ----------------===//

#include "races.h"

#include "memory.h"
#include "shared.h"

#include <vector>

using namespace simt;

namespace {
/// Accesses are told apart in units of so many bytes.
constexpr int64_t kUnit = 2;

/// The last accesses to a unit.
struct Unit {
  Stamp written, read;
  /// Whether other threads have read since `read` as well: lanes of the same
  /// warp, or any.
  bool hasLanes = false, hasOthers = false;
};

std::vector<std::vector<Unit>> all;
} // namespace

void simt::beginRaces(int ctas, int64_t bytes) {
  all.assign(ctas, std::vector<Unit>(bytes / kUnit + 1));
}

Stamp simt::getStamp() {
  return {getBarrierTime(), getWarpTime(), getThread()};
}

static bool isSameWarp(const Stamp &stamp) {
  return stamp.thread / kWarpSize == getThread() / kWarpSize;
}

bool simt::isOrdered(const Stamp &stamp) {
  return stamp.thread == getThread() || stamp.barrierTime != getBarrierTime() ||
         (isSameWarp(stamp) && stamp.warpTime != getWarpTime());
}

template <typename Visit>
static void forEachUnit(const void *at, int64_t bytes, const Visit &visit) {
  int64_t begin = static_cast<const char *>(at) - getShared();
  std::vector<Unit> &units = all[getCta()];
  for (int64_t unit = begin / kUnit; unit * kUnit < begin + bytes; ++unit)
    visit(units[unit], unit * kUnit);
}

static bool isBefore(const Stamp &stamp) {
  return stamp.barrierTime == 0 && stamp.warpTime == 0;
}

static void checkWritten(const Unit &unit, int64_t place, const char *what) {
  if (!isBefore(unit.written) && !isOrdered(unit.written))
    fail("%s byte %ld of shared memory, which thread %d writes, with no "
         "barrier between",
         what, long(place), unit.written.thread);
}

static void checkRead(const Unit &unit, int64_t place) {
  if (isBefore(unit.read) || unit.read.barrierTime != getBarrierTime())
    return;
  bool hasOther = unit.hasOthers || (unit.hasLanes && !isSameWarp(unit.read)) ||
                  (unit.hasLanes && unit.read.warpTime == getWarpTime());
  if (hasOther || !isOrdered(unit.read))
    fail("writes byte %ld of shared memory, which thread %d%s, with no "
         "barrier between",
         long(place), unit.read.thread,
         unit.hasLanes || unit.hasOthers ? " and others read" : " reads");
}

void simt::noteSharedRead(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  forEachUnit(at, bytes, [&](Unit &unit, int64_t place) {
    checkWritten(unit, place, "reads");
    if (isBefore(unit.read) || unit.read.barrierTime != now.barrierTime) {
      unit.read = now;
      unit.hasLanes = unit.hasOthers = false;
    } else if (!isSameWarp(unit.read)) {
      unit.hasOthers = true;
    } else if (unit.read.thread != now.thread) {
      // Lanes that have read before the last bar.warp.sync are ordered.
      unit.hasLanes = true;
      unit.read = now;
    } else {
      unit.read = now;
    }
  });
}

void simt::noteSharedWrite(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  forEachUnit(at, bytes, [&](Unit &unit, int64_t place) {
    checkWritten(unit, place, "writes");
    checkRead(unit, place);
    unit.written = now;
  });
}

void simt::noteAsyncWrite(const void *at, int64_t bytes) {
  forEachUnit(at, bytes, [&](Unit &unit, int64_t place) {
    checkWritten(unit, place, "copies to");
    checkRead(unit, place);
  });
}
