//===- ports.cpp - Proxies of port channels -------------------------------===//

#include "ports.h"

#include "buffers.h"
#include "memory.h"
#include "state.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

using namespace simt;

namespace {
constexpr int64_t kSlice = 16;
constexpr uint32_t kMostSlices = 32;
constexpr uint64_t kCopy = 1, kSignal = 2;

struct Semaphore {
  char *token;
  int peer;
};

struct Memory {
  char *begin;
  uint64_t bytes;
};

struct Service {
  char *triggers;
  uint64_t *tail;
  uint64_t size, stride, polled, laps;
  std::vector<Semaphore> semaphores;
  std::vector<Memory> memories;
  /// The time at which the proxy has read each slot last.
  std::vector<uint32_t> readAt;
};

struct Trigger {
  uint64_t first, second;

  uint64_t size() const { return first & 0xffffffff; }
  uint64_t from() const { return first >> 32; }
  uint64_t to() const { return second & 0xffffffff; }
  uint64_t source() const { return second >> 32 & 0x1ff; }
  uint64_t destination() const { return second >> 41 & 0x1ff; }
  uint64_t kind() const { return second >> 50 & 7; }
  uint64_t semaphore() const { return second >> 53 & 0x3ff; }
};

struct Message {
  size_t proxy;
  int peer;
  /// The number of the capture that the message must see, or -1 if an earlier
  /// launch has sent it.
  int capture;
  char *to;
  /// Null for a signal.
  const char *from = nullptr;
  uint64_t bytes = 0;
  /// The slices that have not arrived.
  std::vector<int64_t> slices;

  bool isBehind(const Message &other) const {
    return proxy == other.proxy && peer == other.peer;
  }
};

std::vector<Service> proxies;
std::deque<Message> messages;
/// The triggers that proxies take before they stop, or -1 for all.
int64_t left = -1;
const char *problem;
/// Numbers for the time between launches.
uint32_t counter;
} // namespace

static uint32_t drawNext() { return launch ? draw() : ++counter * 2654435761u; }

static void setProblem(const char *text) {
  problem = text;
  if (launch && launch->failure.empty())
    launch->failure = text;
}

void simt::beginPorts() {
  for (Message &message : messages)
    message.capture = -1;
  for (Service &proxy : proxies)
    std::fill(proxy.readAt.begin(), proxy.readAt.end(), 0);
}

//===----------------------------------------------------------------------===//
// FIFOs
//===----------------------------------------------------------------------===//

static bool isInSlots(const Service &proxy, const char *at) {
  return at >= proxy.triggers &&
         at < proxy.triggers + proxy.size * proxy.stride;
}

bool simt::isPortWord(const char *at) {
  return std::any_of(proxies.begin(), proxies.end(), [&](const Service &proxy) {
    return isInSlots(proxy, at) ||
           at == reinterpret_cast<const char *>(proxy.tail);
  });
}

void simt::checkPush(const char *at) {
  for (const Service &proxy : proxies)
    if (isInSlots(proxy, at) &&
        proxy.readAt[(at - proxy.triggers) / proxy.stride] > getHostTime())
      fail("a trigger overwrites one that the proxy may not have read");
}

static uint64_t &getWord(char *at) { return *reinterpret_cast<uint64_t *>(at); }

/// Returns true if the slot at the tail has a new trigger.
static bool isReady(const Service &proxy, uint64_t position, char *slot) {
  if (proxy.polled == 0)
    return getWord(slot) != 0;
  uint64_t mark = (position / proxy.size & proxy.laps) ^ 1;
  return getWord(slot + 8) >> 63 == mark;
}

static char *locate(const Service &proxy, uint64_t memory, uint64_t offset,
                    uint64_t bytes) {
  if (memory >= proxy.memories.size() || bytes == 0 ||
      offset + bytes > proxy.memories[memory].bytes) {
    setProblem("a trigger copies bytes outside of the memory of a rank");
    return nullptr;
  }
  return proxy.memories[memory].begin + offset;
}

static void sendCopy(const Message &base, const Service &proxy,
                     const Trigger &trigger) {
  Message message = base;
  message.bytes = trigger.size();
  message.to =
      locate(proxy, trigger.destination(), trigger.to(), message.bytes);
  message.from = locate(proxy, trigger.source(), trigger.from(), message.bytes);
  if (!message.to || !message.from)
    return;
  message.slices.resize((message.bytes + kSlice - 1) / kSlice);
  std::iota(message.slices.begin(), message.slices.end(), 0);
  for (size_t i = message.slices.size(); i > 1; --i)
    std::swap(message.slices[i - 1], message.slices[drawNext() % i]);
  messages.push_back(message);
}

/// Takes the next trigger. Returns true if there was one.
static bool takeTrigger(size_t number) {
  Service &proxy = proxies[number];
  uint64_t position = *proxy.tail, index = position % proxy.size;
  char *slot = proxy.triggers + index * proxy.stride;
  if (!isReady(proxy, position, slot))
    return false;
  Trigger trigger{getWord(slot), getWord(slot + 8)};
  // Without laps, the mark is always set.
  if (!proxy.laps && !(trigger.second >> 63))
    setProblem("a trigger has no mark");
  if (proxy.polled == 0)
    getWord(slot) = 0;
  if (trigger.semaphore() >= proxy.semaphores.size() || !trigger.kind()) {
    setProblem("a trigger has no kind, or an unknown semaphore");
    return false;
  }
  const Semaphore &semaphore = proxy.semaphores[trigger.semaphore()];
  Message message{number, semaphore.peer,
                  launch ? captureOfHostWord(slot + proxy.polled) : -1,
                  semaphore.token};
  if (trigger.kind() & kCopy)
    sendCopy(message, proxy, trigger);
  if (trigger.kind() & kSignal)
    messages.push_back(message);
  __atomic_store_n(proxy.tail, position + 1, __ATOMIC_RELEASE);
  left -= left > 0;
  if (launch)
    proxy.readAt[index] = tick();
  return true;
}

//===----------------------------------------------------------------------===//
// Messages under way
//===----------------------------------------------------------------------===//

static void copySlice(const Message &message, int64_t begin, int64_t bytes) {
  char slice[kSlice];
  if (!launch) {
    memcpy(message.to + begin, message.from + begin, bytes);
    return;
  }
  readForNetwork(message.capture, slice, message.from + begin, bytes);
  writeFromNetwork(message.to + begin, slice, bytes);
}

/// Moves some slices of a copy. Returns true if all have arrived.
static bool copySlices(Message &message) {
  for (uint32_t count = 1 + drawNext() % kMostSlices;
       count > 0 && !message.slices.empty(); --count) {
    int64_t begin = message.slices.back() * kSlice;
    copySlice(message, begin, std::min<int64_t>(kSlice, message.bytes - begin));
    message.slices.pop_back();
  }
  return message.slices.empty();
}

/// Advances a message. Returns true if it has arrived.
static bool advance(size_t index) {
  Message &message = messages[index];
  if (message.from)
    return copySlices(message);
  for (size_t earlier = 0; earlier < index; ++earlier)
    if (message.isBehind(messages[earlier]))
      return false;
  if (launch)
    addFromNetwork(message.to, 1, message.capture);
  else
    ++getWord(message.to);
  return true;
}

static void proceedMessage() {
  if (messages.empty())
    return;
  size_t index = drawNext() % messages.size();
  if (launch)
    noteProgress();
  if (advance(index))
    messages.erase(messages.begin() + index);
}

void simt::proceedPorts() {
  if (proxies.empty() || left == 0)
    return;
  if (happens(30) && takeTrigger(draw() % proxies.size()))
    noteProgress();
  if (happens(30))
    proceedMessage();
}

//===----------------------------------------------------------------------===//
// Functions for Python
//===----------------------------------------------------------------------===//

extern "C" {
/// Removes all proxies and messages.
void simt_clear_ports() {
  proxies.clear();
  messages.clear();
  left = -1;
  problem = nullptr;
}

/// Adds a proxy with a FIFO of `size` slots. Returns its number.
int simt_add_proxy(char *triggers, uint64_t *tail, int64_t size, int64_t stride,
                   int64_t polled, int64_t laps) {
  Service proxy{triggers,         tail,
                uint64_t(size),   uint64_t(stride),
                uint64_t(polled), uint64_t(laps)};
  proxy.readAt.resize(size);
  proxies.push_back(proxy);
  return proxies.size() - 1;
}

/// Adds a semaphore of a proxy, with its token on the GPU of another rank.
void simt_add_semaphore(int proxy, char *token, int peer) {
  proxies[proxy].semaphores.push_back({token, peer});
}

/// Adds memory of a rank to those that a proxy copies.
void simt_add_memory(int proxy, char *begin, int64_t bytes) {
  proxies[proxy].memories.push_back({begin, uint64_t(bytes)});
}

/// Makes all proxies stop after a number of triggers; -1 lets them go on.
void simt_hold_ports(int64_t after) {
  std::lock_guard<std::mutex> guard(getMutex());
  left = after;
}

/// Lets all proxies work for a while if no launch runs.
void simt_run_ports() {
  std::lock_guard<std::mutex> guard(getMutex());
  if (launch || left == 0)
    return;
  for (size_t number = 0; number < proxies.size(); ++number)
    while (takeTrigger(number))
      proceedMessage();
  for (int i = 0; i < 1000 && !messages.empty(); ++i)
    proceedMessage();
}

/// Returns the number of messages under way.
int simt_count_messages() { return messages.size(); }

/// Returns the first mistake in a trigger, or null.
const char *simt_get_port_problem() { return problem; }
}
