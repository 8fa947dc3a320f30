//===- network.cpp - Copies and signals by network adapters ---------------===//

#include "network.h"

#include "buffers.h"
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

using namespace simt;

namespace {
/// The bytes that a copy moves at a time, and the largest number of such slices
/// in one turn.
constexpr int64_t kSlice = 16;
constexpr uint32_t kMostSlices = 32;

struct Team {
  int ranks, rank, stride;
};

struct Message {
  int cta, thread, rank;
  /// The number of the capture that the message must see.
  int capture;
  char *to;
  const char *from = nullptr;
  int64_t bytes = 0;
  uint64_t value = 0;
  bool isSignal = false;
  /// The slices that have not arrived.
  std::vector<int64_t> slices;

  bool isBehind(const Message &other) const {
    return cta == other.cta && thread == other.thread && rank == other.rank;
  }
};

std::deque<Message> messages;
} // namespace

void simt::beginNetwork() { messages.clear(); }

//===----------------------------------------------------------------------===//
// Messages under way
//===----------------------------------------------------------------------===//

/// Moves some slices of a copy. Returns true if all have arrived.
static bool copySlices(Message &message) {
  for (uint32_t count = 1 + draw() % kMostSlices;
       count > 0 && !message.slices.empty(); --count) {
    int64_t begin = message.slices.back() * kSlice;
    int64_t bytes = std::min(kSlice, message.bytes - begin);
    char slice[kSlice];
    readForNetwork(message.capture, slice, message.from + begin, bytes);
    writeFromNetwork(message.to + begin, slice, bytes);
    message.slices.pop_back();
  }
  return message.slices.empty();
}

/// Advances a message. Returns true if it has arrived.
static bool advance(size_t index) {
  Message &message = messages[index];
  if (message.from)
    return copySlices(message);
  if (!message.isSignal) {
    writeFromNetwork(message.to, &message.value, sizeof(message.value));
    return true;
  }
  for (size_t earlier = 0; earlier < index; ++earlier)
    if (message.isBehind(messages[earlier]))
      return false;
  addFromNetwork(message.to, message.value, message.capture);
  return true;
}

void simt::proceedMessages() {
  if (messages.empty() || !happens(30))
    return;
  size_t index = draw() % messages.size();
  noteProgress();
  if (advance(index))
    messages.erase(messages.begin() + index);
}

const char *simt::endNetwork() {
  const char *left = nullptr;
  while (!messages.empty()) {
    if (messages.front().from)
      left = "a copy by a network adapter arrives after the end of the launch";
    if (advance(0))
      messages.pop_front();
  }
  return left;
}

//===----------------------------------------------------------------------===//
// The functions of NCCL
//===----------------------------------------------------------------------===//

/// Returns the address at an offset in the window of a rank.
static char *locate(const uint64_t *window, const Team *team, int rank,
                    uint64_t offset, int64_t bytes) {
  if (rank < 0 || rank >= team->ranks || rank == team->rank ||
      team->stride != 1)
    fail("rank %d is not one of the %d ranks beside rank %d", rank, team->ranks,
         team->rank);
  char *address = reinterpret_cast<char *>(window[rank] + offset);
  const Buffer *buffer = findBuffer(address);
  if (!buffer || uintptr_t(address) + bytes > buffer->begin + buffer->bytes)
    fail("a network adapter accesses %ld bytes at offset %lu of the window of "
         "rank %d, which has no such bytes",
         long(bytes), (unsigned long)offset, rank);
  return address;
}

static Message &send(int rank, char *to) {
  noteProgress();
  Message &message = messages.emplace_back();
  message.cta = getCta();
  message.thread = getThread();
  message.rank = rank;
  message.capture = captureForNetwork();
  message.to = to;
  return message;
}

/// Fails unless a thread calls with the objects that it has initialised.
static void checkObjects(void *const *gin, void *const *threads) {
  if (!gin[0] || threads[0] != threads)
    fail("a function of NCCL gets objects that are not initialised");
}

extern "C" {
void ncclGin_C_init(void **gin, unsigned backends, void *communicator,
                    int context) {
  gin[0] = backends && context == 0 ? communicator : nullptr;
}

void ncclCoopAnyInitThread(void **threads) { threads[0] = threads; }

void ncclGinPut_v3(void **gin, const Team *team, int peer,
                   const uint64_t *toWindow, uint64_t toOffset,
                   const uint64_t *fromWindow, uint64_t fromOffset,
                   uint64_t bytes, int signalType, void *, uint64_t, int, bool,
                   int, uint64_t, bool isCounter, int, void **threads,
                   bool isDescriptor, void *, int, int, int, int segment) {
  checkObjects(gin, threads);
  if (signalType || isCounter || isDescriptor || segment)
    fail("the emulator has only plain copies");
  Message &message = send(peer, locate(toWindow, team, peer, toOffset, bytes));
  message.from =
      reinterpret_cast<const char *>(fromWindow[team->rank]) + fromOffset;
  if (const Buffer *buffer = findBuffer(message.from);
      !buffer || buffer->home != getDevice())
    fail("a network adapter copies from memory of another GPU");
  message.bytes = bytes;
  message.slices.resize((bytes + kSlice - 1) / kSlice);
  std::iota(message.slices.begin(), message.slices.end(), 0);
  for (size_t i = message.slices.size(); i > 1; --i)
    std::swap(message.slices[i - 1], message.slices[draw() % i]);
}

void ncclGinPutValue_v3(void **gin, const Team *team, int peer,
                        const uint64_t *window, uint64_t offset, uint64_t value,
                        uint64_t size, int signalType, void *, uint64_t, int,
                        bool, int, uint64_t, void **threads, bool isDescriptor,
                        void *, int, int, int) {
  checkObjects(gin, threads);
  if (signalType || isDescriptor || size != sizeof(value))
    fail("the emulator has only plain stores of words");
  send(peer, locate(window, team, peer, offset, size)).value = value;
}

void ncclGinSignal_v3(void **gin, const Team *team, int peer, int signalType,
                      const uint64_t *window, uint64_t offset, int,
                      bool isStrong, int change, uint64_t value, void **threads,
                      bool isDescriptor, void *, int, int, int) {
  checkObjects(gin, threads);
  if (signalType != 1 || !isStrong || change != 1 || isDescriptor)
    fail("the emulator has only strong signals that add to an address");
  Message &message = send(peer, locate(window, team, peer, offset, 8));
  message.isSignal = true;
  message.value = value;
}
}
