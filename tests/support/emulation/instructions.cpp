//===- instructions.cpp - Accesses to global memory -----------------------===//

#include "banks.h"
#include "layout.h"
#include "memory.h"
#include "races.h"
#include "shared.h"

#include <cstring>

using namespace simt;

//===----------------------------------------------------------------------===//
// Loads and stores of LLVM's IR
//===----------------------------------------------------------------------===//

/// Called by the code of lower.py, for everything but the fast path.
extern "C" void simt_load(void *to, const char *from, int bytes, int alignment,
                          int site) {
  simt_enter(site);
  if (isShared(from)) {
    checkShared("load", from, bytes, alignment);
    noteSharedRead(from, bytes);
    noteBanks(from, bytes, /*isStore=*/false);
    memcpy(to, from, bytes);
    return;
  }
  if (uintptr_t(from) % alignment)
    checkGlobal("load", from, bytes, alignment);
  readWeak(to, from, bytes, Proxy::Generic);
}

extern "C" void simt_store(char *to, const void *from, int bytes, int alignment,
                           int site) {
  simt_enter(site);
  if (isShared(to)) {
    checkShared("store", to, bytes, alignment);
    noteSharedWrite(to, bytes, memcmp(to, from, bytes) != 0);
    noteBanks(to, bytes, /*isStore=*/true);
    memcpy(to, from, bytes);
    return noteGenericWrite(to, bytes);
  }
  if (uintptr_t(to) % alignment)
    checkGlobal("store", to, bytes, alignment);
  writeWeak(to, from, bytes);
}

/// As in PTX, volatile accesses are relaxed, and of the scope of the system.
extern "C" void simt_load_volatile(void *to, const char *from, int bytes,
                                   int alignment, int site) {
  simt_enter(site);
  if (isShared(from)) {
    checkShared("load", from, bytes, alignment);
    memcpy(to, from, bytes);
    return;
  }
  if (bytes != 4 && bytes != 8)
    return simt_load(to, from, bytes, alignment, site);
  yield();
  uint64_t value = loadStrong(from, bytes, /*acquires=*/false, Scope::Sys);
  memcpy(to, &value, bytes);
}

extern "C" void simt_store_volatile(char *to, const void *from, int bytes,
                                    int alignment, int site) {
  simt_enter(site);
  if (isShared(to)) {
    checkShared("store", to, bytes, alignment);
    memcpy(to, from, bytes);
    return;
  }
  if (bytes != 4 && bytes != 8)
    return simt_store(to, from, bytes, alignment, site);
  uint64_t value = 0;
  memcpy(&value, from, bytes);
  storeStrong(to, value, bytes, /*releases=*/false, Scope::Sys);
}

//===----------------------------------------------------------------------===//
// Strong accesses
//===----------------------------------------------------------------------===//

namespace {
/// The description of an instruction by lower.py, in the first slots: its
/// order, its scope, the bytes of an element, and the number of elements. The
/// numbers are those of lower.py.
struct Access {
  enum Order { Relaxed, Acquire, Release, AcquireRelease };

  explicit Access(Slot *&args)
      : order(Order(args[0].as<int32_t>())),
        scope(Scope(args[1].as<int32_t>())), bytes(args[2].as<int32_t>()),
        count(args[3].as<int32_t>()) {
    args += 4;
    if (getMutation() == Mutation::Relax)
      order = Relaxed;
    if (getMutation() == Mutation::NarrowToCta)
      scope = Scope::Cta;
    if (getMutation() == Mutation::NarrowToGpu)
      scope = Scope::Gpu;
  }

  bool acquires() const { return order == Acquire || order == AcquireRelease; }
  bool releases() const { return order == Release || order == AcquireRelease; }

  uint64_t get(Slot &slot) const {
    return bytes == 8 ? slot.as<uint64_t>() : slot.as<uint32_t>();
  }
  void set(Slot &slot, uint64_t value) const {
    if (bytes == 8)
      slot.as<uint64_t>() = value;
    else
      slot.as<uint32_t>() = value;
  }

  Order order;
  Scope scope;
  int bytes, count;
};
} // namespace

/// Elements of a vector are loaded and stored one by one, in any order.
template <typename Visit>
static void forEachElement(const Access &access, const Visit &visit) {
  int first = draw() % access.count;
  for (int i = 0; i < access.count; ++i)
    visit((first + i) % access.count);
}

INSTRUCTION(ptx_ld) {
  Access access(args);
  yield();
  const char *from = args[0].as<const char *>();
  checkGlobal("load", from, access.bytes * access.count,
              access.bytes * access.count);
  forEachElement(access, [&](int i) {
    access.set(results[i], loadStrong(from + i * access.bytes, access.bytes,
                                      access.acquires(), access.scope));
  });
}

INSTRUCTION(ptx_st) {
  Access access(args);
  char *to = args[0].as<char *>();
  checkGlobal("store", to, access.bytes * access.count,
              access.bytes * access.count);
  forEachElement(access, [&](int i) {
    storeStrong(to + i * access.bytes, access.get(args[1 + i]), access.bytes,
                access.releases(), access.scope);
  });
}

static uint64_t change(Slot *args, Access access, const Change &change) {
  return exchange(args[0].as<char *>(), access.bytes, access.acquires(),
                  access.releases(), access.scope, change);
}

INSTRUCTION(ptx_red_add) {
  Access access(args);
  uint64_t more = access.get(args[1]);
  change(args, access, [=](uint64_t old) { return old + more; });
}
INSTRUCTION(ptx_atom_add) {
  Access access(args);
  uint64_t more = access.get(args[1]);
  access.set(results[0],
             change(args, access, [=](uint64_t old) { return old + more; }));
}
INSTRUCTION(ptx_atom_cas) {
  Access access(args);
  uint64_t expected = access.get(args[1]), value = access.get(args[2]);
  access.set(results[0], change(args, access, [=](uint64_t old) {
               return old == expected ? value : old;
             }));
}

/// Scopes have the values of Scope.
INSTRUCTION(ptx_fence) {
  Access access(args);
  if (access.order != Access::Relaxed && !isDropped())
    fence(access.scope);
}

//===----------------------------------------------------------------------===//
// Weak accesses, and proxies
//===----------------------------------------------------------------------===//

/// Words that are accessed together, as their alignment demands.
template <int count>
static void loadAligned(Slot *args, Slot *results) {
  int32_t words[count];
  const char *from = args[0].as<const char *>();
  checkGlobal("load", from, sizeof(words), sizeof(words));
  readWeak(words, from, sizeof(words), Proxy::Generic);
  for (int i = 0; i < count; ++i)
    results[i].as<int32_t>() = words[i];
}
INSTRUCTION(ld_global_L1_no_allocate_L2_128B_v2_b32) {
  loadAligned<2>(args, results);
}
INSTRUCTION(ld_global_L1_no_allocate_L2_128B_v4_b32) {
  loadAligned<4>(args, results);
}

INSTRUCTION(fence_proxy_async_shared_cta) {
  if (!isDropped())
    fenceSharedProxy();
}
INSTRUCTION(fence_proxy_async_global) {
  if (!isDropped())
    fenceAsyncProxy();
}
INSTRUCTION(fence_proxy_async) {
  fence_proxy_async_shared_cta(args, results);
  fence_proxy_async_global(args, results);
}
