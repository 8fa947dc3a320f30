//===- simt.h - Threads of a CTA, one after the other -----------*- C++ -*-===//
//
// A CTA is a thread of the host, and its threads are fibers of that, which go
// on one after the other: until they meet at a barrier or as a warp, or look at
// memory that another CTA may change.

#ifndef ARK_TESTS_EMULATION_SIMT_H
#define ARK_TESTS_EMULATION_SIMT_H

#include <cstdint>
#include <functional>
#include <vector>

namespace simt {

constexpr int kWarpSize = 32;
constexpr int64_t kSharedBytes = 1 << 18;

/// Operands and results of an instruction, one after the other. What is
/// narrower fills the first bytes.
struct alignas(16) Slot {
  unsigned char bytes[16];

  template <typename T>
  T &as() {
    return *reinterpret_cast<T *>(bytes);
  }
};

/// What a thread of the kernel is, for the instructions.
int getThread();
int getCta();
/// The CTA's shared memory.
char *getShared();

/// Lets the other threads go on; the host's thread, too, where all just look.
void yield();

/// Comes back when all threads of the CTA that have not ended have come to a
/// barrier. Gives whether the predicate holds for any of them.
bool meet(bool predicate);

/// The lanes of `mask` of a warp, which have all come to the same instruction:
/// `work` gets their operands and results, and is run once. Threads that come
/// to different ones end the run.
using Work = std::function<void(Slot *const *args, Slot *const *results)>;
void meetWarp(uint32_t mask, const char *name, Slot *args, Slot *results,
              const Work &work);

/// Copies that a thread has begun, up to its last commit by group.
struct Copy {
  void *target;
  const void *source;
  int64_t bytes;
};
std::vector<Copy> &getOpenCopies();
std::vector<std::vector<Copy>> &getCopyGroups();

/// A copy that no thread does: it is done at once, or when somebody who waits
/// for one looks, for the sake of those who look too early.
void copyLater(std::function<void()> copy);
/// Does the oldest one that is left, if any.
void copySome();

/// Ends the run of this CTA; the host gets the message.
[[noreturn]] void fail(const char *format, ...);

} // namespace simt

#endif // ARK_TESTS_EMULATION_SIMT_H
