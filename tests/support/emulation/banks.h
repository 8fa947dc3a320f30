//===- banks.h - Banks of the LDS of AMD GPUs -------------------*- C++ -*-===//
//
// A wave accesses LDS in phases: the threads of a phase access as many words as
// there are banks. Words of one bank take a cycle each, unless they are the
// same. Accesses of all threads of a wave at one position of the kernel are
// counted; branches that some threads skip are not.

#ifndef ARK_TESTS_EMULATION_BANKS_H
#define ARK_TESTS_EMULATION_BANKS_H

#include <cstdint>

namespace simt {

/// Records an access of the current thread to shared memory, if a test counts
/// them.
void noteBanks(const void *at, int64_t bytes, bool isStore);

} // namespace simt

#endif // ARK_TESTS_EMULATION_BANKS_H
