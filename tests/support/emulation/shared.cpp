//===- shared.cpp - Shared memory of the CTA whose turn it is -------------===//

#include "shared.h"

#include "layout.h"
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace simt;

namespace {
/// Inaccessible memory around the window.
constexpr uintptr_t kGuardBytes = 0x100000;
/// Uninitialised shared memory has conspicuous values.
constexpr int kUnwritten = 0xff;

/// The words that threads of a CTA have written and fenced.
struct Writes {
  /// For each word, the time of the write, and the thread.
  std::vector<uint32_t> times;
  std::vector<uint16_t> threads;
  std::vector<uint32_t> fenceTimes;
  /// The last barrier before any fence.
  uint32_t fencedBarrier = 0;
};

std::vector<Writes> writes;
int descriptor = -1, mapped = -1;
uintptr_t mappedBytes;
} // namespace

extern "C" {
/// The bytes of shared memory, read by the code of lower.py.
int64_t simt_shared_bytes;

int64_t get_shared_address(char *pointer) { return pointer - getShared(); }
/// Takes an address of 32 bits, the lower half of a pointer.
char *get_shared_pointer(uint32_t address) { return getShared() + address; }
}

char *simt::getShared() { return reinterpret_cast<char *>(kWindow); }

static void mapWindow(int cta, uintptr_t bytes) {
  mmap(getShared(), bytes, PROT_READ | PROT_WRITE,
       MAP_SHARED | MAP_FIXED | MAP_POPULATE, descriptor,
       off_t(cta * kWindowBytes));
}

void simt::beginShared(int ctas, int threads, int64_t bytes) {
  simt_shared_bytes = bytes;
  mappedBytes = std::max<uintptr_t>((bytes + 4095) & -4096, 4096);
  mmap(getShared() - kGuardBytes, kWindowBytes + 2 * kGuardBytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  descriptor = memfd_create("ark_shared_memory", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, ctas * kWindowBytes))
    abort();
  for (int cta = 0; cta < ctas; ++cta) {
    mapWindow(cta, mappedBytes);
    memset(getShared(), kUnwritten, mappedBytes);
  }
  mapped = ctas - 1;
  size_t words = mappedBytes / 4;
  writes.assign(ctas, {});
  for (Writes &own : writes) {
    own.times.assign(words, 0);
    own.threads.assign(words, 0);
    own.fenceTimes.assign(threads, 0);
  }
}

void simt::endShared() {
  munmap(getShared(), mappedBytes);
  close(descriptor);
  writes.clear();
}

void simt::enterShared(int cta) {
  if (mapped == cta)
    return;
  mapWindow(cta, mappedBytes);
  mapped = cta;
}

void simt::checkShared(const char *access, const void *at, int64_t bytes,
                       int64_t alignment) {
  int64_t begin = static_cast<const char *>(at) - getShared();
  if (begin < 0 || begin + bytes > simt_shared_bytes)
    fail("a %s of %ld bytes at %ld of shared memory, which has %ld", access,
         long(bytes), long(begin), long(simt_shared_bytes));
  if (begin % alignment)
    fail("a %s of %ld bytes at %ld of shared memory, which is not aligned to "
         "%ld",
         access, long(bytes), long(begin), long(alignment));
}

template <typename Visit>
static void forEachWord(const void *at, int64_t bytes, const Visit &visit) {
  int64_t begin = static_cast<const char *>(at) - getShared();
  for (int64_t word = begin / 4; word * 4 < begin + bytes; ++word)
    visit(word);
}

void simt::noteGenericWrite(const void *at, int64_t bytes) {
  Writes &own = writes[getCta()];
  uint32_t time = tick();
  forEachWord(at, bytes, [&](int64_t word) {
    own.times[word] = time;
    own.threads[word] = getThread();
  });
}

void simt::fenceSharedProxy() {
  Writes &own = writes[getCta()];
  own.fenceTimes[getThread()] = tick();
  own.fencedBarrier = std::max(own.fencedBarrier, getBarrierTime());
}

bool simt::isFenced(const void *at, int64_t bytes) {
  const Writes &own = writes[getCta()];
  bool all = true;
  forEachWord(at, bytes, [&](int64_t word) {
    all &= own.times[word] <= own.fencedBarrier ||
           own.times[word] <= own.fenceTimes[own.threads[word]];
  });
  return all;
}
