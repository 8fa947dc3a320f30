//===- buffers.cpp - Allocations of the emulated GPU ----------------------===//

#include "buffers.h"

#include "layout.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

using namespace simt;

namespace {
constexpr uintptr_t kPage = 4096;

/// What lower.py writes for each variable of a kernel.
struct Variable {
  const void *address;
  int64_t bytes, isConstant;
};

std::map<uintptr_t, Buffer> buffers;
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

static uintptr_t roundUp(uintptr_t bytes) {
  return (bytes + kPage - 1) & -kPage;
}

extern "C" {
/// Memory of the GPU, or of the host; null where no addresses are left.
void *simt_allocate(int64_t bytes, int isOfHost) {
  static bool isReserved = reserve();
  uintptr_t size = roundUp(bytes ? bytes : 1);
  if (!isReserved || nextAddress + size + kPage > kArena + kArenaBytes)
    return nullptr;
  uintptr_t begin = nextAddress;
  // A page behind each buffer is not accessible.
  nextAddress += size + kPage;
  void *address = reinterpret_cast<void *>(begin);
  if (mprotect(address, size, PROT_READ | PROT_WRITE))
    return nullptr;
  for (int64_t i = 0; i < bytes; i += 4)
    getShadow(reinterpret_cast<char *>(begin) + i) =
        i + 4 <= bytes ? kWhole : kPartial;
  buffers[begin] = {begin, bytes, bool(isOfHost)};
  return address;
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
  // Addresses are used again when nobody can know of the old ones.
  if (buffers.empty())
    nextAddress = kArena + kPage;
}

/// The variables of the kernel that is launched next.
void simt_set_variables(const Variable *first, int count) {
  variables.clear();
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
