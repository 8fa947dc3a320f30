//===- simt.h - CTAs and their threads --------------------------*- C++ -*-===//
//
// A launch runs in one thread of the host. Every thread of the kernel is a
// fiber, which runs until it waits for other threads at a barrier or as a warp,
// or polls memory. A seed determines the order in which CTAs and fibers take
// turns, so that launches with the same seed behave equally.

#ifndef ARK_TESTS_EMULATION_SIMT_H
#define ARK_TESTS_EMULATION_SIMT_H

#include <cstdint>
#include <functional>

namespace simt {

/// Threads per warp of NVIDIA's GPUs.
constexpr int kWarpSize = 32;
constexpr int kMaxWarpSize = 64;
constexpr int kWarpgroupSize = 128;
/// Limit on the CTAs of all GPUs together.
constexpr int kMaxCtas = 64;
constexpr int kMaxDevices = 8;
constexpr int kMaxThreads = 1024;

/// The operands and results of an instruction in consecutive slots. A narrower
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

/// The threads per warp of the launch.
int getWarpSize();

/// A random number that depends on the seed and on all draws before.
uint32_t draw();
/// Returns true with this probability, in percent.
bool happens(uint32_t percent);

/// Lets the other fibers run.
void yield();
/// Records a change that a waiting thread may wait for. Without such progress
/// the clock runs faster, so that deadlines pass.
void noteProgress();
/// Returns the kernel's clock in nanoseconds.
int64_t getClock();
/// Returns the number of turns of all CTAs.
uint64_t getTurn();

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// A deliberate fault of an instruction, which tests have to detect. The
/// numbers are those of mutants.py.
enum class Mutation : uint8_t {
  None,
  /// The instruction does nothing.
  Drop,
  /// The instruction neither releases nor acquires.
  Relax,
  /// The scope is the CTA, or the GPU.
  NarrowToCta,
  NarrowToGpu,
  /// The instruction waits for one group fewer.
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
// Threads that synchronise
//===----------------------------------------------------------------------===//

/// Returns when all threads of the CTA that have not ended have reached a
/// barrier. Returns true if the predicate holds for any of them.
bool syncCta(bool predicate);

/// The times at which the CTA last passed a barrier, and at which the warp last
/// passed bar.warp.sync or any other instruction that synchronises its threads.
uint32_t getBarrierTime();
uint32_t getWarpTime();
uint32_t getConvergenceTime();

/// Waits until the threads of `mask` of a warp have reached the same
/// instruction. `work` gets their operands and results, indexed by thread, and
/// runs once. A thread that reaches another instruction ends the launch.
using Work = std::function<void(Slot *const *args, Slot *const *results)>;
void convergeWarp(uint64_t mask, const char *name, Slot *args, Slot *results,
                  const Work &work);
/// Waits for the threads of `mask`, and orders their accesses to memory.
void syncWarp(uint64_t mask, const char *name);

/// As above, for the 128 threads of a warpgroup.
void convergeWarpgroup(const char *name, Slot *args, Slot *results,
                       const Work &work);

} // namespace simt

/// Begins an instruction, or an access to memory outside of the fast path.
/// Called by the code of lower.py.
extern "C" void simt_enter(int site);

/// Each function implements an instruction: an intrinsic of LLVM or a line of
/// PTX, with the name that lower.py gives it and the semantics of the PTX ISA.
#define INSTRUCTION(name)                                                      \
  extern "C" void name([[maybe_unused]] simt::Slot *args,                      \
                       [[maybe_unused]] simt::Slot *results)

#endif // ARK_TESTS_EMULATION_SIMT_H
