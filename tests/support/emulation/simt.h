//===- simt.h - CTAs and their threads --------------------------*- C++ -*-===//
//
// A launch runs in one thread of the host. Every thread of the kernel is a
// fiber, which runs until it meets others at a barrier or as a warp, or polls
// memory. CTAs and fibers take turns in an order that a seed determines, so
// that a launch with the same seed does the same.

#ifndef ARK_TESTS_EMULATION_SIMT_H
#define ARK_TESTS_EMULATION_SIMT_H

#include <cstdint>
#include <functional>

namespace simt {

constexpr int kWarpSize = 32;
constexpr int kWarpgroupSize = 128;
/// Limit on the CTAs of all GPUs together.
constexpr int kMaxCtas = 64;
constexpr int kMaxDevices = 4;
constexpr int kMaxThreads = 1024;

/// Operands and results of an instruction, one after the other. A narrower
/// value fills the first bytes.
struct alignas(16) Slot {
  unsigned char bytes[16];

  template <typename T>
  T &as() {
    return *reinterpret_cast<T *>(bytes);
  }
};

/// The running thread, its CTA among those of all GPUs, its GPU, and the number
/// of the CTA on that GPU.
int getThread();
int getCta();
int getDevice();
int getCtaOfDevice();

/// A random number that depends on the seed and on all draws before.
uint32_t draw();
/// Whether something happens that has this chance, in percent.
bool happens(uint32_t percent);

/// Lets the other fibers run.
void yield();
/// The launch has changed something that a waiting thread may wait for. Without
/// any progress the clock runs fast, so that deadlines pass.
void noteProgress();
/// The time that the kernel sees, in nanoseconds.
int64_t getClock();
/// How many turns CTAs have had.
uint64_t getTurn();

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// What is wrong with an instruction on purpose, to see whether tests notice.
/// The numbers are those of mutants.py.
enum class Mutation : uint8_t {
  None,
  /// It does nothing.
  Drop,
  /// It neither releases nor acquires.
  Relax,
  /// Its scope is the CTA, or the GPU.
  NarrowToCta,
  NarrowToGpu,
  /// It waits for one group fewer.
  WaitForLess,
};

/// The mutation of the instruction that the thread executes.
Mutation getMutation();
inline bool isDropped() { return getMutation() == Mutation::Drop; }
/// The number of that instruction in the kernel.
int getSite();

/// Ends the launch. The message names the CTA, the thread and the instruction.
[[noreturn]] void fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

//===----------------------------------------------------------------------===//
// Threads that meet
//===----------------------------------------------------------------------===//

/// Returns when all threads of the CTA that have not ended have come to a
/// barrier. Returns whether the predicate holds for any of them.
bool meet(bool predicate);

/// When the CTA has last passed a barrier, and the warp bar.warp.sync or any
/// instruction to which its lanes come together.
uint32_t getBarrierTime();
uint32_t getWarpTime();
uint32_t getMeetTime();

/// The lanes of `mask` of a warp come to the same instruction. `work` gets
/// their operands and results, indexed by lane, and is run once. A lane that
/// comes to another instruction ends the launch.
using Work = std::function<void(Slot *const *args, Slot *const *results)>;
void meetWarp(uint32_t mask, const char *name, Slot *args, Slot *results,
              const Work &work);
/// Waits for the lanes of `mask`, and orders what they do in memory.
void syncWarp(uint32_t mask, const char *name);

/// The same for the 128 threads of a warpgroup.
void meetWarpgroup(const char *name, Slot *args, Slot *results,
                   const Work &work);

} // namespace simt

/// An instruction begins, or an access to memory that is not quick. Called by
/// the code that lower.py makes.
extern "C" void simt_enter(int site);

/// Each function is an instruction of NVIDIA's: an intrinsic of LLVM or a line
/// of PTX, by the name that lower.py gives it. Meanings are those of the PTX
/// ISA.
#define INSTRUCTION(name)                                                      \
  extern "C" void name([[maybe_unused]] simt::Slot *args,                      \
                       [[maybe_unused]] simt::Slot *results)

#endif // ARK_TESTS_EMULATION_SIMT_H
