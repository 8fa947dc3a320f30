//===- memory.cpp - Global memory in the order that CTAs see it -----------===//

#include "memory.h"

#include "buffers.h"
#include "layout.h"
#include "ports.h"
#include "races.h"
#include "shared.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using namespace simt;

namespace {
constexpr int kHost = kMaxCtas, kNetwork = kMaxCtas + 1;
constexpr int kWriters = kMaxCtas + 2;
constexpr uint32_t kAllBytes = 0xf;
constexpr uint32_t kNever = ~uint32_t(0);

/// For every writer, the time up to which its stores are visible.
struct View {
  std::array<uint32_t, kWriters> seen{};

  void join(const View &other) {
    for (size_t i = 0; i < seen.size(); ++i)
      seen[i] = std::max(seen[i], other.seen[i]);
  }
};

/// The views that releases pass on: to the CTAs of each GPU, by releases on
/// that GPU; and to all CTAs, by releases at system scope.
struct Released {
  std::array<View, kMaxDevices> near;
  View far;

  void join(const Released &other) {
    for (size_t i = 0; i < near.size(); ++i)
      near[i].join(other.near[i]);
    far.join(other.far);
  }
};

/// A store to a word.
struct Version {
  /// The time of the store, and the time at which relaxed loads see it at the
  /// latest.
  uint32_t time, visibleAt;
  /// The word, by its address in the arena divided by four; its former value,
  /// and its former version or shadow.
  uint64_t word;
  uint32_t old, previous;
  /// The view that an acquire of this version gets, or 0.
  uint32_t view;
  /// The time from which releases pass the store on: that of the store, or, in
  /// GPUs of AMD, that at which its wave has waited for it.
  uint32_t arrivedAt;
  uint8_t writer, bytes;
  bool isWeak;
  /// True if the access is strong, at the scope of the system.
  bool isOfSystem;
  /// The position of the storing thread in its CTA.
  Stamp stamp;
};

/// The reader, and the view that it must see. The reader also sees the stores
/// of `own`.
struct Reader {
  const View &view;
  int own;
  bool isStrong;
  uint32_t salt;
  int device = 0;
  bool isOfSystem = false;

  bool mustSee(const Version &version) const {
    return version.writer == own ||
           version.arrivedAt <= view.seen[version.writer];
  }
};

/// The accesses of a thread that fences order.
struct Fenced {
  std::unique_ptr<Released> released;
  /// The views that fences of any scope acquire, and those at the scope of the
  /// system.
  std::unique_ptr<View> acquired, acquiredFar;
  /// The scope of a fence that releases at the thread's next wait for stores.
  std::optional<Scope> open;
};

uint32_t now;
std::vector<int> deviceOfCta;
bool isRunning, waitsForHost;
/// Derived from the seed: the percentage of weak loads that return an older
/// version, and the delay of stores, as a power of two.
uint32_t staleness, longestDelay;

std::vector<Version> versions;
std::vector<Released> released;
std::array<View, kMaxCtas> views, asyncViews;
View hostView;
std::vector<View> captures;
/// The captures of what stores to words of the host have released.
std::map<const char *, int> hostReleases;
/// The time of a CTA's last release: earlier stores are in views.
std::array<uint32_t, kWriters> published;
std::vector<Fenced> fenced;
/// True for GPUs of AMD. The stores that each warp has not waited for.
bool waitsForStores;
std::vector<std::vector<uint32_t>> outstanding;
/// The time of the last strong load that is not at the scope of the system, by
/// word and CTA. Empty if there is one GPU.
std::map<std::pair<uint64_t, int>, uint32_t> narrowLoads;
bool hasSeveralGpus;
} // namespace

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void simt::beginMemory(const std::vector<int> &deviceOf) {
  deviceOfCta = deviceOf;
  now = 1;
  isRunning = true;
  waitsForHost = false;
  constexpr uint32_t kStaleness[] = {60, 90, 100};
  staleness = kStaleness[draw() % 3];
  longestDelay = draw() % 13;
  // Numbers with another meaning in a shadow, and an invalid view.
  versions.assign(kPartial + 1, Version());
  released.assign(1, Released());
  views.fill(View());
  asyncViews.fill(View());
  hostView = View();
  captures.clear();
  hostReleases.clear();
  published.fill(0);
  fenced = std::vector<Fenced>(deviceOf.size() * kMaxThreads);
  narrowLoads.clear();
  waitsForStores = getWarpSize() == kMaxWarpSize;
  outstanding.assign(deviceOf.size() * kMaxThreads / kWarpSize, {});
  hasSeveralGpus =
      std::any_of(deviceOf.begin(), deviceOf.end(),
                  [&](int device) { return device != deviceOf[0]; });
}

/// Makes all stores visible to all CTAs.
void simt::endMemory() {
  for (size_t i = versions.size(); i-- > kPartial + 1;)
    getShadow(reinterpret_cast<char *>(kArena) + 4 * versions[i].word) =
        versions[i].previous;
  versions.clear();
  isRunning = false;
}

uint32_t simt::getTime() { return now; }
uint32_t simt::tick() { return ++now; }
bool simt::takeWaitForHost() { return std::exchange(waitsForHost, false); }

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

static bool isVersion(uint32_t number) { return number > kPartial; }

static uint64_t getWord(const char *at) { return (uintptr_t(at) - kArena) / 4; }

static uint32_t load32(const char *at) {
  return __atomic_load_n(reinterpret_cast<const uint32_t *>(at),
                         __ATOMIC_RELAXED);
}

static uint32_t scramble(uint32_t x) {
  x = (x ^ x >> 16) * 0x85ebca6b;
  x = (x ^ x >> 13) * 0xc2b2ae35;
  return x ^ x >> 16;
}

/// Returns the bytes of a word that are among `bytes` bytes from `at` on.
static uint32_t maskOf(const char *word, const char *at, int64_t bytes) {
  uint32_t mask = 0;
  for (int i = 0; i < 4; ++i)
    if (word + i >= at && word + i < at + bytes)
      mask |= 1 << i;
  return mask;
}

static uint32_t spread(uint32_t bytes) {
  uint32_t mask = 0;
  for (int i = 0; i < 4; ++i)
    if (bytes >> i & 1)
      mask |= 0xffu << 8 * i;
  return mask;
}

/// Returns true if a CTA reads a store of a CTA of another GPU, or of a network
/// adapter.
static bool isElsewhere(const Reader &reader, const Version &version) {
  if (version.writer == kNetwork)
    return true;
  return reader.own != kHost && version.writer != kHost &&
         deviceOfCta[version.writer] != reader.device;
}

static bool sees(const Reader &reader, const Version &version) {
  if (reader.mustSee(version))
    return true;
  bool arrives = reader.isStrong || (reader.own == kHost && !version.isWeak);
  if (isElsewhere(reader, version))
    arrives = reader.isOfSystem && version.isOfSystem;
  if (arrives)
    return now >= version.visibleAt;
  // All words of one store get the same answer.
  return scramble(reader.salt ^ version.time) % 100 >= staleness;
}

/// Returns the value of an aligned word, and its newest version.
static uint32_t readWord(const char *at, const Reader &reader,
                         uint32_t *taken = nullptr) {
  uint32_t value = load32(at), settled = 0;
  for (uint32_t i = getShadow(at); isVersion(i) && settled != kAllBytes;
       i = versions[i].previous) {
    const Version &version = versions[i];
    uint32_t open = version.bytes & ~settled;
    if (open == 0)
      continue;
    if (sees(reader, version)) {
      if (taken && !*taken)
        *taken = i;
      settled |= open;
    } else {
      value = (value & ~spread(open)) | (version.old & spread(open));
    }
  }
  return value;
}

/// Returns the stores that the current warp has not waited for.
static std::vector<uint32_t> &getOutstanding() {
  return outstanding[(getCta() * kMaxThreads + getThread()) / getWarpSize()];
}

static Version &addVersion(char *word, uint32_t bytes, int writer, bool isWeak,
                           uint32_t delay) {
  uint32_t &shadow = getShadow(word);
  bool isOutstanding = waitsForStores && writer < kHost;
  if (isOutstanding)
    getOutstanding().push_back(versions.size());
  versions.push_back({now, now + delay, getWord(word), load32(word), shadow, 0,
                      isOutstanding ? kNever : now, uint8_t(writer),
                      uint8_t(bytes), isWeak, false,
                      writer >= kHost ? Stamp() : getStamp()});
  shadow = versions.size() - 1;
  return versions.back();
}

/// Returns true if the word's newest version cannot be distinguished from
/// another store of the same writer. A store to some bytes of a version is
/// another store, since the stamp of a version belongs to all its bytes.
static bool isCovered(uint32_t number, uint32_t bytes, int writer) {
  if (!isVersion(number))
    return false;
  const Version &last = versions[number];
  if (waitsForStores && writer < kHost &&
      (last.arrivedAt != kNever ||
       last.stamp.thread / getWarpSize() != getThread() / getWarpSize()))
    return false;
  return last.writer == writer && last.isWeak &&
         last.time > published[writer] && last.bytes == bytes;
}

static uint32_t drawDelay() {
  return draw() % (1u << draw() % (longestDelay + 1));
}

static void recordWeak(char *to, int64_t bytes, int writer) {
  tick();
  uint32_t delay = drawDelay();
  char *word = to - uintptr_t(to) % 4;
  for (; word < to + bytes; word += 4) {
    uint32_t mask = maskOf(word, to, bytes);
    if (isCovered(getShadow(word), mask, writer))
      versions[getShadow(word)].stamp = writer >= kHost ? Stamp() : getStamp();
    else
      addVersion(word, mask, writer, /*isWeak=*/true, delay);
  }
}

//===----------------------------------------------------------------------===//
// Weak accesses
//===----------------------------------------------------------------------===//

static void readWords(char *to, const char *from, int64_t bytes,
                      const Reader &reader) {
  for (const char *word = from - uintptr_t(from) % 4; word < from + bytes;
       word += 4) {
    uint32_t value = readWord(word, reader);
    const char *begin = std::max(word, from),
               *end = std::min(word + 4, from + bytes);
    memcpy(to + (begin - from),
           reinterpret_cast<char *>(&value) + (begin - word), end - begin);
  }
}

/// Ends the launch if another thread of the CTA has stored to the word without
/// an order between the two accesses.
static void checkStored(const char *at, int64_t bytes, const char *verb) {
  for (const char *word = at - uintptr_t(at) % 4; word < at + bytes;
       word += 4) {
    uint32_t mask = maskOf(word, at, bytes);
    for (uint32_t i = getShadow(word); isVersion(i); i = versions[i].previous) {
      const Version &version = versions[i];
      if (!(version.bytes & mask))
        continue;
      if (version.isWeak && version.writer == getCta() &&
          !isOrdered(version.stamp))
        fail("%s memory where thread %d stores, with no barrier between", verb,
             version.stamp.thread);
      break;
    }
  }
}

void simt::readWeak(void *to, const char *from, int64_t bytes, Proxy proxy) {
  checkBuffer("load", from, bytes);
  if (!isGlobal(from)) {
    memcpy(to, from, bytes);
    return;
  }
  if (proxy == Proxy::Generic) {
    checkStored(from, bytes, "loads");
    noteGlobalRead(from, bytes);
  }
  int cta = getCta();
  bool isAsync = proxy == Proxy::Async;
  Reader reader{isAsync ? asyncViews[cta] : views[cta], isAsync ? -1 : cta,
                /*isStrong=*/false, draw(), getDevice()};
  readWords(static_cast<char *>(to), from, bytes, reader);
}

void simt::writeWeak(char *to, const void *from, int64_t bytes) {
  checkBuffer("store", to, bytes);
  noteProgress();
  if (isGlobal(to)) {
    if (memcmp(to, from, bytes) != 0)
      checkStored(to, bytes, "stores to");
    checkGlobalLoads(to, bytes);
    noteStore();
    recordWeak(to, bytes, getCta());
  }
  memcpy(to, from, bytes);
}

//===----------------------------------------------------------------------===//
// Strong accesses
//===----------------------------------------------------------------------===//

static Fenced &getFenced() {
  return fenced[getCta() * kMaxThreads + getThread()];
}

static uint64_t loadNow(const char *at, int bytes) {
  if (bytes == 8)
    return __atomic_load_n(reinterpret_cast<const uint64_t *>(at),
                           __ATOMIC_ACQUIRE);
  return load32(at);
}

static void storeNow(char *at, uint64_t value, int bytes) {
  if (bytes == 8)
    __atomic_store_n(reinterpret_cast<uint64_t *>(at), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<uint32_t *>(at), uint32_t(value),
                     __ATOMIC_RELEASE);
}

/// Returns the view that other CTAs get: the loads and stores of the CTA so
/// far.
static View publish() {
  int cta = getCta();
  View view = views[cta];
  view.seen[cta] = getOrderedTime();
  published[cta] = now;
  tick();
  return view;
}

static void join(std::unique_ptr<View> &view, const View &other) {
  if (!view)
    view = std::make_unique<View>();
  view->join(other);
}

/// Records that the thread has read a version, whose view a later fence may
/// acquire.
static void take(uint32_t number, bool acquires, Scope scope) {
  if (!isVersion(number) || !versions[number].view)
    return;
  const Released &from = released[versions[number].view];
  const View &near = from.near[getDevice()];
  if (acquires)
    views[getCta()].join(near);
  join(getFenced().acquired, near);
  if (scope != Scope::Sys)
    return;
  if (acquires)
    views[getCta()].join(from.far);
  join(getFenced().acquiredFar, from.far);
}

/// Memory of the host, which the host may change at any time.
static void takeFromHost(const char *from, bool acquires, Scope scope) {
  // The stand-in for proxies is part of the launch.
  waitsForHost |= !isPortWord(from);
  if (acquires && scope == Scope::Sys)
    views[getCta()].seen[kHost] = now;
}

/// Fails if a strong load of a word races with a store of another GPU: nothing
/// orders the two, and not both are at the scope of the system.
static void checkStoresElsewhere(const char *word, const Reader &reader) {
  for (uint32_t i = getShadow(word); isVersion(i); i = versions[i].previous) {
    const Version &version = versions[i];
    if (reader.mustSee(version))
      return;
    bool isStrong = reader.isOfSystem && version.isOfSystem;
    if (isElsewhere(reader, version) && !isStrong && version.writer == kNetwork)
      fail("a load races with a store of a network adapter, not at the scope "
           "of the system");
    if (isElsewhere(reader, version) && !isStrong)
      fail("a load races with a store of GPU %d, not both at the scope of the "
           "system",
           deviceOfCta[version.writer]);
  }
}

/// Fails if a store to a word of another GPU races with a strong load there
/// that is not at the scope of the system.
static void checkLoadsElsewhere(const char *word) {
  for (size_t cta = 0; cta < deviceOfCta.size(); ++cta) {
    auto load = narrowLoads.find({getWord(word), int(cta)});
    if (load != narrowLoads.end() && deviceOfCta[cta] != getDevice() &&
        load->second > views[getCta()].seen[cta])
      fail("a store races with a load of GPU %d, not both at the scope of the "
           "system",
           deviceOfCta[cta]);
  }
}

uint64_t simt::loadStrong(const char *from, int bytes, bool acquires,
                          Scope scope) {
  checkGlobal("load", from, bytes, bytes);
  if (!isGlobal(from))
    return loadNow(from, bytes);
  tick();
  if (findBuffer(from)->isOfHost) {
    takeFromHost(from, acquires, scope);
    return loadNow(from, bytes);
  }
  int cta = getCta();
  Reader reader{views[cta], cta,         scope != Scope::Cta,
                draw(),     getDevice(), scope == Scope::Sys};
  for (int i = 0; i < bytes; i += 4) {
    checkStoresElsewhere(from + i, reader);
    if (hasSeveralGpus && scope != Scope::Sys)
      narrowLoads[{getWord(from + i), cta}] = now;
  }
  uint32_t taken = 0;
  uint64_t value = readWord(from, reader, &taken);
  if (bytes == 8)
    value |= uint64_t(readWord(from + 4, reader)) << 32;
  if (scope != Scope::Cta)
    take(taken, acquires, scope);
  return value;
}

/// Adds the versions of a strong store, which passes on `view`.
static void recordStrong(char *to, int bytes, const Released *view,
                         Scope scope) {
  tick();
  uint32_t delay = drawDelay();
  int writer = getCta();
  uint32_t number = 0;
  if (view) {
    number = released.size();
    released.push_back(*view);
  }
  for (int i = 0; i < bytes; i += 4) {
    if (hasSeveralGpus)
      checkLoadsElsewhere(to + i);
    checkGlobalLoads(to + i, 4);
    Version &version =
        addVersion(to + i, kAllBytes, writer, /*isWeak=*/false, delay);
    version.view = number;
    version.isOfSystem = scope == Scope::Sys;
  }
}

/// Returns the view that a release at a scope passes on.
static Released release(const View &view, Scope scope) {
  Released result;
  result.near[getDevice()] = view;
  if (scope == Scope::Sys)
    result.far = view;
  return result;
}

/// Returns the view that a store of the thread passes on, or null.
static std::unique_ptr<Released> getReleased(bool releases, Scope scope) {
  if (scope == Scope::Cta)
    return nullptr;
  if (releases)
    return std::make_unique<Released>(release(publish(), scope));
  const auto &earlier = getFenced().released;
  if (!earlier)
    return nullptr;
  auto result = std::make_unique<Released>(*earlier);
  if (scope != Scope::Sys)
    result->far = View();
  return result;
}

/// Fails if a strong store or an atomic change of memory of another GPU is not
/// at the scope of the system.
static void checkScope(const Buffer &buffer, Scope scope) {
  if (!buffer.isOfHost && buffer.home != getDevice() && scope != Scope::Sys)
    fail("an atomic change of memory of GPU %d, not at the scope of the system",
         buffer.home);
}

/// Passes on the view of a store to a word of the host; null for no view.
static void releaseToHost(const char *to, const Released *view) {
  checkPush(to);
  hostReleases[to] = -1;
  if (!view)
    return;
  hostView.join(view->near[getDevice()]);
  hostReleases[to] = captures.size();
  captures.push_back(view->far);
}

void simt::storeStrong(char *to, uint64_t value, int bytes, bool releases,
                       Scope scope) {
  checkGlobal("store", to, bytes, bytes);
  noteProgress();
  if (isGlobal(to)) {
    std::unique_ptr<Released> view = getReleased(releases, scope);
    const Buffer &buffer = *findBuffer(to);
    if (buffer.isOfHost) {
      releaseToHost(to, scope == Scope::Sys ? view.get() : nullptr);
    } else {
      checkScope(buffer, scope);
      recordStrong(to, bytes, view.get(), scope);
    }
  }
  storeNow(to, value, bytes);
}

uint64_t simt::exchange(char *at, int bytes, bool acquires, bool releases,
                        Scope scope, const Change &change) {
  checkGlobal("store", at, bytes, bytes);
  noteProgress();
  uint64_t old = loadNow(at, bytes), value = change(old);
  if (isGlobal(at)) {
    checkScope(*findBuffer(at), scope);
    uint32_t last = getShadow(at);
    std::unique_ptr<Released> view = getReleased(releases, scope);
    // A reader of this value also synchronises with the releases before it.
    if (isVersion(last) && versions[last].view && !versions[last].isWeak) {
      const Released &earlier = released[versions[last].view];
      if (!view)
        view = std::make_unique<Released>();
      view->join(earlier);
    }
    if (scope != Scope::Cta)
      take(last, acquires, scope);
    recordStrong(at, bytes, view.get(), scope);
  }
  storeNow(at, value, bytes);
  return old;
}

void simt::fence(Scope scope) {
  if (scope == Scope::Cta)
    return;
  Fenced &own = getFenced();
  if (own.acquired)
    views[getCta()].join(*own.acquired);
  if (own.acquiredFar && scope == Scope::Sys)
    views[getCta()].join(*own.acquiredFar);
  if (waitsForStores)
    own.open = scope;
  else
    own.released = std::make_unique<Released>(release(publish(), scope));
}

void simt::waitForStores() {
  tick();
  for (uint32_t number : getOutstanding())
    versions[number].arrivedAt = now;
  getOutstanding().clear();
  Fenced &own = getFenced();
  if (!own.open)
    return;
  own.released = std::make_unique<Released>(release(publish(), *own.open));
  own.open.reset();
}

void simt::fenceAsyncProxy() {
  int cta = getCta();
  asyncViews[cta].join(publish());
}

//===----------------------------------------------------------------------===//
// Network adapters
//===----------------------------------------------------------------------===//

int simt::captureForNetwork() {
  const auto &released = getFenced().released;
  captures.push_back(released ? released->far : View());
  return captures.size() - 1;
}

int simt::captureOfHostWord(const char *at) {
  auto found = hostReleases.find(at);
  return found == hostReleases.end() ? -1 : found->second;
}

uint32_t simt::getHostTime() { return views[getCta()].seen[kHost]; }

static View getCapture(int number) {
  return number < 0 ? View() : captures[number];
}

void simt::readForNetwork(int capture, void *to, const char *from,
                          int64_t bytes) {
  View view = getCapture(capture);
  readWords(static_cast<char *>(to), from, bytes,
            Reader{view, /*own=*/-1, /*isStrong=*/false, draw(),
                   /*device=*/-1});
}

void simt::writeFromNetwork(char *to, const void *from, int64_t bytes) {
  if (bytes == sizeof(uint64_t) && uintptr_t(to) % sizeof(uint64_t) == 0) {
    // Threads poll such words.
    tick();
    for (int i = 0; i < bytes; i += 4)
      addVersion(to + i, kAllBytes, kNetwork, /*isWeak=*/false, drawDelay())
          .isOfSystem = true;
  } else {
    recordWeak(to, bytes, kNetwork);
  }
  memcpy(to, from, bytes);
}

void simt::addFromNetwork(char *counter, uint64_t value, int capture) {
  View view = getCapture(capture);
  view.seen[kNetwork] = now;
  published[kNetwork] = now;
  Released passed;
  passed.near.fill(view);
  passed.far = view;
  if (uint32_t last = getShadow(counter);
      isVersion(last) && versions[last].view && !versions[last].isWeak)
    passed.join(released[versions[last].view]);
  tick();
  uint32_t number = released.size();
  released.push_back(passed);
  uint32_t delay = drawDelay();
  for (int i = 0; i < 8; i += 4) {
    Version &version = addVersion(counter + i, kAllBytes, kNetwork,
                                  /*isWeak=*/false, delay);
    version.view = number;
    version.isOfSystem = true;
  }
  storeNow(counter, loadNow(counter, 8) + value, 8);
}

//===----------------------------------------------------------------------===//
// The host
//===----------------------------------------------------------------------===//

extern "C" {
/// Copies to memory of the GPU while a kernel may be running.
void simt_write(char *to, const void *from, int64_t bytes) {
  std::lock_guard<std::mutex> guard(getMutex());
  if (isRunning) {
    recordWeak(to, bytes, kHost);
    // Each copy is a separate store.
    published[kHost] = tick();
  }
  memcpy(to, from, bytes);
}

/// Copies from memory of the GPU while a kernel may be running.
void simt_read(char *to, const char *from, int64_t bytes) {
  std::lock_guard<std::mutex> guard(getMutex());
  if (!isRunning) {
    memcpy(to, from, bytes);
    return;
  }
  // The time at which the host reads does not depend on the seed, and has no
  // effect on the launch.
  readWords(to, from, bytes,
            Reader{hostView, kHost, /*isStrong=*/false, /*salt=*/0});
}
}
