//===- copies.cpp - Copies beside the threads -----------------------------===//
//
// A copy reads its source and writes its target at any time between its start
// and the end of the wait for it. Until then the target holds poison.

#include "copies.h"

#include "banks.h"
#include "layout.h"
#include "memory.h"
#include "races.h"
#include "shared.h"

#include <cstring>
#include <deque>
#include <vector>

using namespace simt;

namespace {
constexpr int kPoison = 0xff;
/// The percentage of copies in flight that end in a turn.
constexpr uint32_t kArrival = 25;

/// A copy of 16 bytes by a thread. Without a source, the copy writes zeros.
struct Copy {
  char *target;
  const char *source;
  bool hasRead;
  unsigned char data[16];
  /// The bytes to read; the others of `data` are zeros.
  int32_t bytes = sizeof(data);
};

/// Copies that a thread has begun, by group.
struct ThreadCopies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

/// An mbarrier object: its phase, and the arrivals and bytes that it lacks.
struct Arrivals {
  uint64_t phase : 1, expected : 15, pending : 16;
  int64_t bytes : 32;

  void endPhase() {
    if (pending != 0 || bytes != 0)
      return;
    ++phase;
    pending = expected;
    noteProgress();
  }
};
static_assert(sizeof(Arrivals) == 8);

struct BulkCopy {
  char *target;
  int64_t bytes;
  Arrivals *arrivals;
  Read read;
  /// Words of the target that threads have written without a proxy fence.
  std::vector<char *> unfenced;
};

struct CtaCopies {
  std::vector<ThreadCopies> threads;
  std::vector<BulkCopy> bulk;
  /// The turn in which copies last ended.
  uint64_t turn = 0;
};

std::vector<CtaCopies> all;
} // namespace

void simt::beginCopies(int ctas, int threads) {
  all.assign(ctas, {});
  for (CtaCopies &cta : all)
    cta.threads.resize(threads);
}

const char *simt::describeOpenCopies() {
  return all[getCta()].bulk.empty()
             ? nullptr
             : "it ends while a bulk copy to its shared memory is under way";
}

//===----------------------------------------------------------------------===//
// Copies of a thread
//===----------------------------------------------------------------------===//

static ThreadCopies &getOwn() { return all[getCta()].threads[getThread()]; }

static void read(Copy &copy) {
  readWeak(copy.data, copy.source, copy.bytes, Proxy::Generic);
  copy.hasRead = true;
}

static void finish(Copy &copy) {
  if (copy.source) {
    if (!copy.hasRead)
      read(copy);
    noteGlobalRead(copy.source, copy.bytes);
  }
  noteSharedWrite(copy.target, sizeof(copy.data), /*changes=*/true);
  memcpy(copy.target, copy.data, sizeof(copy.data));
  noteGenericWrite(copy.target, sizeof(copy.data));
}

/// Ends the copies of all but the last `most` groups.
static void waitForGroups(size_t most) {
  auto &groups = getOwn().groups;
  most += getMutation() == Mutation::WaitForLess;
  while (groups.size() > most) {
    for (Copy &copy : groups.front())
      finish(copy);
    groups.pop_front();
  }
}

/// Ends the open group.
static void commit() {
  ThreadCopies &own = getOwn();
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

static void start(Copy copy) {
  checkShared("copy", copy.target, sizeof(copy.data), sizeof(copy.data));
  noteAsyncWrite(copy.target, sizeof(copy.data));
  if (copy.source) {
    checkGlobal("copy", copy.source, copy.bytes, sizeof(copy.data));
    noteGlobalRead(copy.source, copy.bytes);
    if (happens(50))
      read(copy);
  }
  if ((copy.hasRead || !copy.source) && happens(30))
    return finish(copy);
  memset(copy.target, kPoison, sizeof(copy.data));
  getOwn().open.push_back(copy);
}

INSTRUCTION(cp_async_cg_shared_global_16) {
  start({args[0].as<char *>(), args[1].as<const char *>(), false, {}});
}
/// The third operand is the number of bytes to read; zeros fill the others.
INSTRUCTION(cp_async_cg_shared_global_16_s) {
  auto bytes = args[2].as<int32_t>();
  if (bytes < 0 || bytes > static_cast<int32_t>(sizeof(Copy::data)))
    fail("a copy of %d of 16 bytes", bytes);
  const char *source = bytes == 0 ? nullptr : args[1].as<const char *>();
  start({args[0].as<char *>(), source, false, {}, bytes});
}
INSTRUCTION(cp_async_commit_group) {
  if (!isDropped())
    commit();
}
INSTRUCTION(cp_async_wait_group) {
  if (!isDropped())
    waitForGroups(args[0].as<int32_t>());
}

void simt::startWarpCopy(char *target, const char *source) {
  start({target, source, false, {}});
  commit();
  noteBanks(target, sizeof(Copy::data), /*isStore=*/true);
}

void simt::waitForWarpCopies(int most) { waitForGroups(most); }

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

static Arrivals &getArrivals(Slot &slot) {
  auto *arrivals = slot.as<Arrivals *>();
  checkShared("use of an mbarrier", arrivals, sizeof(Arrivals),
              sizeof(Arrivals));
  int64_t bits;
  memcpy(&bits, arrivals, sizeof(bits));
  if (bits == -1)
    fail("uses an mbarrier that is not initialised");
  return *arrivals;
}

INSTRUCTION(mbarrier_init_shared) {
  auto *arrivals = args[0].as<Arrivals *>();
  checkShared("use of an mbarrier", arrivals, sizeof(Arrivals),
              sizeof(Arrivals));
  arrivals->phase = 0;
  arrivals->expected = arrivals->pending = args[1].as<int32_t>();
  arrivals->bytes = 0;
  noteGenericWrite(arrivals, sizeof(Arrivals));
}
INSTRUCTION(mbarrier_inval_shared) {
  memset(&getArrivals(args[0]), 0xff, sizeof(Arrivals));
}

static void arrive(Slot &barrier, int32_t bytes) {
  Arrivals &arrivals = getArrivals(barrier);
  if (isDropped())
    return;
  if (arrivals.pending == 0)
    fail("arrives at an mbarrier that nobody else is missing at");
  arrivals.bytes += bytes;
  --arrivals.pending;
  arrivals.endPhase();
}

INSTRUCTION(mbarrier_arrive_expect_tx_scope_cta_space_cta) {
  results[0].as<int64_t>() = 0;
  arrive(args[0], args[1].as<int32_t>());
}

/// Used by lines of PTX with a predicate as the last operand.
INSTRUCTION(mbarrier_arrive_expect_tx_shared_b64) {
  if (args[2].as<bool>())
    arrive(args[0], args[1].as<int32_t>());
}
INSTRUCTION(mbarrier_arrive_shared_cta_b64) {
  if (args[1].as<bool>())
    arrive(args[0], 0);
}

static void finish(const BulkCopy &copy) {
  copy.read();
  for (char *word : copy.unfenced)
    memset(word, kPoison, 4);
  copy.arrivals->bytes -= copy.bytes;
  copy.arrivals->endPhase();
  noteProgress();
}

/// Ends some copies of the CTA once per turn, in any order.
static void finishSomeCopies() {
  CtaCopies &own = all[getCta()];
  if (own.turn == getTurn())
    return;
  own.turn = getTurn();
  std::vector<BulkCopy> open;
  std::swap(open, own.bulk);
  for (BulkCopy &copy : open)
    if (happens(kArrival))
      finish(copy);
    else
      own.bulk.push_back(std::move(copy));
}

static bool hasEnded(Slot *args) {
  if (isDropped())
    return true;
  yield();
  finishSomeCopies();
  return getArrivals(args[0]).phase != (args[1].as<uint32_t>() & 1);
}

INSTRUCTION(mbarrier_try_wait_parity_scope_cta_space_cta) {
  results[0].as<bool>() = hasEnded(args);
}
/// Includes the loop around the instruction.
INSTRUCTION(mbarrier_wait_parity_shared_b64) {
  while (!hasEnded(args)) {
  }
}

//===----------------------------------------------------------------------===//
// Copies in bulk
//===----------------------------------------------------------------------===//

void simt::startBulkCopy(char *target, int64_t bytes, void *barrier,
                         const Read &read) {
  Slot slot;
  slot.as<void *>() = barrier;
  Arrivals &arrivals = getArrivals(slot);
  if (!isFenced(&arrivals, sizeof(Arrivals)))
    fail("a copy is to end at an mbarrier whose initialisation no proxy fence "
         "has shown to it");
  noteAsyncWrite(target, bytes);
  BulkCopy copy{target, bytes, &arrivals, read, {}};
  for (int64_t i = 0; i < bytes; i += 4)
    if (!isFenced(target + i, 4))
      copy.unfenced.push_back(target + i);
  if (happens(50)) {
    // The copy reads at once, and writes later.
    read();
    std::vector<char> data(target, target + bytes);
    copy.read = [=] { memcpy(target, data.data(), bytes); };
  }
  memset(target, kPoison, bytes);
  all[getCta()].bulk.push_back(std::move(copy));
}

INSTRUCTION(cp_async_bulk_global_to_shared_cta) {
  int32_t bytes = args[3].as<int32_t>();
  char *target = args[0].as<char *>();
  const char *source = args[2].as<const char *>();
  if ((uintptr_t(target) | uintptr_t(source) | bytes) % 16)
    fail("a bulk copy of %d bytes from %p to %p is not aligned", bytes,
         static_cast<const void *>(source), static_cast<void *>(target));
  checkShared("bulk copy", target, bytes, 16);
  checkGlobal("bulk copy", source, bytes, 16);
  startBulkCopy(target, bytes, args[1].as<void *>(),
                [=] { readWeak(target, source, bytes, Proxy::Async); });
}

/// The emulator has no L2, and only checks that the memory exists.
INSTRUCTION(cp_async_bulk_prefetch_L2) {
  int32_t bytes = args[1].as<int32_t>();
  if (bytes <= 0 || bytes % 16)
    fail("a prefetch of %d bytes", bytes);
  checkGlobal("prefetch", args[0].as<const char *>(), bytes, 16);
}
INSTRUCTION(prefetch_global_L2) {}
