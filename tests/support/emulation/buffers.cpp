//===- buffers.cpp - Allocations of the emulated GPU ----------------------===//

#include "buffers.h"

#include "layout.h"
#include "simt.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

using namespace simt;

namespace {
constexpr uintptr_t kPage = 4096, kGranularity = 2 << 20;

/// The record that lower.py writes for each variable of a kernel.
struct Variable {
  const void *address;
  int64_t bytes, isConstant;
};

std::map<uintptr_t, Buffer> buffers;
/// Addresses of virtual memory, with and without buffers, and their sizes.
std::map<uintptr_t, uintptr_t> reserved;
int numDevices = 1;
std::vector<Buffer> variables;
uintptr_t nextAddress;
} // namespace

/// The first allocation reserves all addresses.
static bool reserve() {
  constexpr int kFlags =
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  auto take = [](uintptr_t begin, int protection) {
    void *wanted = reinterpret_cast<void *>(begin);
    return mmap(wanted, kArenaBytes, protection, kFlags, -1, 0) == wanted;
  };
  nextAddress = kArena + kPage;
  return take(kArena, PROT_NONE) && take(kShadow, PROT_READ | PROT_WRITE);
}

static uintptr_t roundUp(uintptr_t bytes, uintptr_t unit = kPage) {
  return (bytes + unit - 1) & -unit;
}

/// Returns addresses for a number of bytes, rounded up, after a gap, from a
/// multiple of `unit` on; 0 if none are left.
static uintptr_t takeAddresses(uintptr_t size, uintptr_t gap = 0,
                               uintptr_t unit = kPage) {
  static bool isReserved = reserve();
  uintptr_t begin = roundUp(nextAddress + gap, unit);
  if (!isReserved || begin + size + kPage > kArena + kArenaBytes)
    return 0;
  // A page behind each buffer is not accessible.
  nextAddress = begin + size + kPage;
  return begin;
}

/// Addresses are reused once no reference to the old ones can exist.
static void reuseAddresses() {
  if (buffers.empty() && reserved.empty())
    nextAddress = kArena + kPage;
}

/// Makes the addresses of a buffer accessible.
static bool addBuffer(const Buffer &buffer) {
  uintptr_t size = roundUp(buffer.bytes ? buffer.bytes : 1);
  if (mprotect(reinterpret_cast<void *>(buffer.begin), size,
               PROT_READ | PROT_WRITE))
    return false;
  // The fast path of loads does not know the GPU of the thread.
  uint32_t whole = numDevices > 1 ? kPartial : kWhole;
  for (int64_t i = 0; i < buffer.bytes; i += 4)
    getShadow(reinterpret_cast<char *>(buffer.begin) + i) =
        i + 4 <= buffer.bytes ? whole : kPartial;
  buffers[buffer.begin] = buffer;
  return true;
}

extern "C" {
/// Sets the number of GPUs for memory that is allocated from now on.
/// Returns false if there may not be as many GPUs.
int simt_set_devices(int count) {
  if (count > kMaxDevices)
    return 0;
  numDevices = count;
  return 1;
}

/// Allocates memory of a GPU or of the host; returns null if no addresses are
/// left.
void *simt_allocate(int64_t bytes, int isOfHost, int device) {
  Buffer buffer{takeAddresses(roundUp(bytes ? bytes : 1)), bytes,
                bool(isOfHost)};
  buffer.home = device;
  buffer.devices = isOfHost ? ~0u : 1u << device;
  if (!buffer.begin || !addBuffer(buffer))
    return nullptr;
  return reinterpret_cast<void *>(buffer.begin);
}

/// Reserves addresses of virtual memory, at a distance from earlier addresses;
/// returns null if none are left.
void *simt_reserve(int64_t bytes, int64_t gap) {
  uintptr_t begin = takeAddresses(roundUp(bytes), gap, kGranularity);
  if (begin)
    reserved[begin] = bytes;
  return reinterpret_cast<void *>(begin);
}

void simt_release(void *address) {
  reserved.erase(reinterpret_cast<uintptr_t>(address));
  reuseAddresses();
}

/// Maps memory of a GPU at reserved addresses. No GPU may access it yet.
int simt_map(void *address, int64_t bytes, int device) {
  Buffer buffer{reinterpret_cast<uintptr_t>(address), bytes};
  buffer.home = device;
  buffer.devices = 0;
  return addBuffer(buffer);
}

/// Sets the GPUs that may access mapped memory, as bits.
void simt_set_access(void *address, uint32_t devices) {
  buffers.at(reinterpret_cast<uintptr_t>(address)).devices = devices;
}

void simt_free(void *address) {
  auto found = buffers.find(reinterpret_cast<uintptr_t>(address));
  uintptr_t size = roundUp(found->second.bytes ? found->second.bytes : 1);
  auto clear = [&](void *begin, int protection) {
    mmap(begin, size, protection,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  clear(address, PROT_NONE);
  clear(&getShadow(address), PROT_READ | PROT_WRITE);
  buffers.erase(found);
  reuseAddresses();
}

void simt_clear_variables() { variables.clear(); }

/// Adds variables of the kernels that are launched next.
void simt_add_variables(const Variable *first, int count) {
  for (int i = 0; i < count; ++i)
    variables.push_back({reinterpret_cast<uintptr_t>(first[i].address),
                         first[i].bytes, false, bool(first[i].isConstant)});
}
}

const Buffer *simt::findBuffer(const void *address) {
  auto at = reinterpret_cast<uintptr_t>(address);
  if (isGlobal(address)) {
    auto next = buffers.upper_bound(at);
    if (next == buffers.begin())
      return nullptr;
    const Buffer &buffer = std::prev(next)->second;
    return at - buffer.begin < uintptr_t(buffer.bytes) ? &buffer : nullptr;
  }
  for (const Buffer &variable : variables)
    if (at - variable.begin < uintptr_t(variable.bytes))
      return &variable;
  return nullptr;
}

std::string simt::describeAddress(const void *address) {
  char text[160];
  auto at = reinterpret_cast<uintptr_t>(address);
  auto next = buffers.upper_bound(at);
  if (!isGlobal(address) || next == buffers.begin()) {
    snprintf(text, sizeof(text), "%p, which is in no buffer", address);
    return text;
  }
  const Buffer &buffer = std::prev(next)->second;
  long behind = at - buffer.begin - buffer.bytes;
  snprintf(text, sizeof(text),
           "%p, %ld bytes behind the end of a buffer of %ld bytes", address,
           behind, long(buffer.bytes));
  return text;
}
