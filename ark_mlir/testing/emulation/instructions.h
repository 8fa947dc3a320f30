//===- instructions.h - What LLVM has no instruction for --------*- C++ -*-===//
//
// Each function is one of NVIDIA's: an intrinsic of LLVM or a line of PTX, by
// the name that lower.py gives it. Meanings are those of the PTX ISA.

#ifndef ARK_TESTING_EMULATION_INSTRUCTIONS_H
#define ARK_TESTING_EMULATION_INSTRUCTIONS_H

#include "simt.h"

#define INSTRUCTION(name)                                                      \
  extern "C" void name([[maybe_unused]] simt::Slot *args,                      \
                       [[maybe_unused]] simt::Slot *results)

/// Shared memory begins at 0 on a GPU.
extern "C" int64_t get_shared_address(char *pointer);

namespace simt {
/// Waits for the lanes of `mask`.
void syncWarp(uint32_t mask, const char *name);
} // namespace simt

#endif // ARK_TESTING_EMULATION_INSTRUCTIONS_H
