//===- fibers.cpp - Stacks that take turns --------------------------------===//

#include "fibers.h"

#include <cstdint>

#ifdef __x86_64__

using namespace simt;

// Saves what a call preserves, and continues on the other stack.
asm(R"(
  .text
  .globl simt_switch
  .type simt_switch, @function
simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size simt_switch, .-simt_switch
)");

void Fiber::begin(char *stack, size_t bytes, void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  auto *top = reinterpret_cast<uint64_t *>(stack + bytes);
  // A function begins 8 bytes beyond a multiple of 16: there is the address to
  // return to, which `entry` never uses.
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int i = 0; i < kSavedRegisters; ++i)
    *--top = 0;
  stackPointer = top;
}

#endif
