//===- races.cpp - Accesses of threads that nothing orders ----------------===//

#include "races.h"

#include "layout.h"
#include "memory.h"
#include "shared.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

using namespace simt;

namespace {
/// The last loads of some bytes.
struct Loads {
  Stamp last;
  /// True if threads of the same warp, or any other threads, have also read
  /// since `last`.
  bool hasSameWarp = false, hasOthers = false;
};

/// The last accesses to some bytes.
struct Unit {
  Stamp written;
  Loads loads;
};

constexpr int64_t kWord = 4, kPage = 4096;

/// The accesses of a CTA to consecutive memory: those of whole words by word,
/// and others by byte, since neighbours may access the rest of the word.
template <typename Entry>
class Accesses {
public:
  /// Visits the entry of each word or byte of an access from `begin` on.
  template <typename Visit>
  void record(int64_t begin, int64_t bytes, const Visit &visit) {
    int64_t step = (begin | bytes) % kWord ? 1 : kWord;
    for (int64_t at = begin; at < begin + bytes; at += step) {
      Page &page = getPage(at);
      if (step == kWord)
        visit(page.words[at % kPage / kWord], at);
      else
        visit(page.getBytes()[at % kPage], at);
    }
  }

  /// Visits the entries of all earlier accesses that overlap with this one.
  template <typename Visit>
  void check(int64_t begin, int64_t bytes, const Visit &visit) const {
    int64_t end = begin + bytes;
    for (int64_t word = begin / kWord * kWord; word < end; word += kWord) {
      const Page *page = findPage(word);
      if (!page)
        continue;
      visit(page->words[word % kPage / kWord], std::max(word, begin));
      for (int64_t at = std::max(word, begin);
           page->bytes && at < std::min(word + kWord, end); ++at)
        visit(page->bytes[at % kPage], at);
    }
  }

private:
  struct Page {
    Entry words[kPage / kWord];
    std::unique_ptr<Entry[]> bytes;

    Entry *getBytes() {
      if (!bytes)
        bytes = std::make_unique<Entry[]>(kPage);
      return bytes.get();
    }
  };

  const Page *findPage(int64_t at) const {
    auto found = pages.find(at / kPage);
    return found == pages.end() ? nullptr : &found->second;
  }
  Page &getPage(int64_t at) {
    int64_t index = at / kPage;
    if (index != lastIndex) {
      last = &pages[index];
      lastIndex = index;
    }
    return *last;
  }

  // Addresses of virtual memory may lie far apart.
  std::unordered_map<int64_t, Page> pages;
  // The page of the last record; its address does not change.
  int64_t lastIndex = -1;
  Page *last = nullptr;
};

/// By CTA: all accesses to shared memory, and loads from global memory.
/// memory.cpp knows the stores to global memory.
std::vector<Accesses<Unit>> sharedAccesses;
std::vector<Accesses<Loads>> globalLoads;

/// The first stores of a thread since a barrier, and since bar.warp.sync.
struct Unordered {
  Stamp sinceBarrier, sinceWarp;
  uint32_t first = 0, firstInWarp = 0;
};
std::vector<Unordered> unordered;
} // namespace

void simt::beginRaces(int ctas) {
  sharedAccesses = std::vector<Accesses<Unit>>(ctas);
  globalLoads = std::vector<Accesses<Loads>>(ctas);
  unordered.assign(ctas * kMaxThreads, {});
}

Stamp simt::getStamp() {
  return {getBarrierTime(), getWarpTime(), getConvergenceTime(), getThread()};
}

static bool isSameWarp(const Stamp &stamp) {
  return stamp.thread / getWarpSize() == getThread() / getWarpSize();
}

bool simt::isOrdered(const Stamp &stamp) {
  return stamp.thread == getThread() || stamp.barrierTime != getBarrierTime() ||
         (isSameWarp(stamp) && stamp.warpTime != getWarpTime());
}

static bool isNone(const Stamp &stamp) { return stamp.barrierTime == 0; }

/// Records a load of the current thread.
static void addLoad(Loads &loads, const Stamp &now) {
  if (isNone(loads.last) || loads.last.barrierTime != now.barrierTime) {
    loads = {now};
  } else if (!isSameWarp(loads.last)) {
    loads.hasOthers = true;
  } else {
    // bar.warp.sync orders the loads of the warp before it.
    bool isSinceSync = loads.last.warpTime == now.warpTime;
    loads.hasSameWarp =
        isSinceSync && (loads.hasSameWarp || loads.last.thread != now.thread);
    loads.last = now;
  }
}

/// Returns true if all loads are ordered before a store of the current thread.
static bool areOrdered(const Loads &loads) {
  if (isNone(loads.last) || loads.last.barrierTime != getBarrierTime())
    return true;
  // A thread that has reached a shuffle has completed its earlier loads.
  if (isSameWarp(loads.last) && !loads.hasOthers &&
      loads.last.convergenceTime != getConvergenceTime())
    return true;
  bool hasOther = loads.hasOthers ||
                  (loads.hasSameWarp && !isSameWarp(loads.last)) ||
                  (loads.hasSameWarp && loads.last.warpTime == getWarpTime());
  return !hasOther && isOrdered(loads.last);
}

static const char *describeOthers(const Loads &loads) {
  return loads.hasSameWarp || loads.hasOthers ? " and others read" : " reads";
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static int64_t getPlace(const void *at) {
  return static_cast<const char *>(at) - getShared();
}

static void checkWritten(const Unit &unit, int64_t byte, const char *verb) {
  if (!isNone(unit.written) && !isOrdered(unit.written))
    fail("%s byte %ld of shared memory, which thread %d writes, with no "
         "barrier between",
         verb, long(byte), unit.written.thread);
}

static void checkLoads(const Unit &unit, int64_t byte) {
  if (!areOrdered(unit.loads))
    fail("writes byte %ld of shared memory, which thread %d%s, with no "
         "barrier between",
         long(byte), unit.loads.last.thread, describeOthers(unit.loads));
}

void simt::noteSharedRead(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  Accesses<Unit> &own = sharedAccesses[getCta()];
  own.check(getPlace(at), bytes, [](const Unit &unit, int64_t byte) {
    checkWritten(unit, byte, "reads");
  });
  own.record(getPlace(at), bytes,
             [&](Unit &unit, int64_t) { addLoad(unit.loads, now); });
}

void simt::noteSharedWrite(const void *at, int64_t bytes, bool changes) {
  Stamp now = getStamp();
  Accesses<Unit> &own = sharedAccesses[getCta()];
  own.check(getPlace(at), bytes, [=](const Unit &unit, int64_t byte) {
    if (changes)
      checkWritten(unit, byte, "writes");
    checkLoads(unit, byte);
  });
  own.record(getPlace(at), bytes,
             [&](Unit &unit, int64_t) { unit.written = now; });
}

void simt::checkReadByWarp(const void *at, int64_t bytes, int warp) {
  sharedAccesses[getCta()].check(
      getPlace(at), bytes, [=](const Unit &unit, int64_t byte) {
        if (unit.written.barrierTime == getBarrierTime() &&
            unit.written.thread / getWarpSize() != warp)
          fail("warp %d reads byte %ld of shared memory, which thread %d "
               "writes, with no barrier between",
               warp, long(byte), unit.written.thread);
      });
}

void simt::noteAsyncWrite(const void *at, int64_t bytes) {
  sharedAccesses[getCta()].check(getPlace(at), bytes,
                                 [](const Unit &unit, int64_t byte) {
                                   checkWritten(unit, byte, "copies to");
                                   checkLoads(unit, byte);
                                 });
}

//===----------------------------------------------------------------------===//
// Loads from global memory
//===----------------------------------------------------------------------===//

void simt::noteGlobalRead(const void *at, int64_t bytes) {
  Stamp now = getStamp();
  globalLoads[getCta()].record(
      uintptr_t(at) - kArena, bytes,
      [&](Loads &loads, int64_t) { addLoad(loads, now); });
}

void simt::checkGlobalLoads(const void *at, int64_t bytes) {
  globalLoads[getCta()].check(
      uintptr_t(at) - kArena, bytes, [](const Loads &loads, int64_t) {
        if (!areOrdered(loads))
          fail("stores to memory that thread %d%s, with no barrier between",
               loads.last.thread, describeOthers(loads));
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
    bool isSame = thread / getWarpSize() == own / getWarpSize();
    if (!isSame)
      time = std::min(time, other.first - 1);
    else if (other.sinceWarp.warpTime == getWarpTime())
      time = std::min(time, other.firstInWarp - 1);
  }
  return time;
}
