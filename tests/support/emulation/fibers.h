//===- fibers.h - Stacks that take turns ------------------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_FIBERS_H
#define ARK_TESTS_EMULATION_FIBERS_H

#include <cstddef>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace simt {

#ifdef __x86_64__

/// A stack, and the address at which it continues. `swapcontext` would need a
/// system call.
struct Fiber {
  void *stackPointer = nullptr;

  /// Calls `entry`, which never returns, on the first switch to this fiber.
  void begin(char *stack, size_t bytes, void (*entry)());
};

extern "C" void simt_switch(void **from, void *to);

inline void switchFibers(Fiber &from, Fiber &to) {
  simt_switch(&from.stackPointer, to.stackPointer);
}

#else

struct Fiber {
  ucontext_t context;

  void begin(char *stack, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
};

inline void switchFibers(Fiber &from, Fiber &to) {
  swapcontext(&from.context, &to.context);
}

#endif

} // namespace simt

#endif // ARK_TESTS_EMULATION_FIBERS_H
