//===- races.h - Accesses of threads that nothing orders --------*- C++ -*-===//
//
// Two threads of a CTA access the same memory, one of them writes, and between
// the accesses there is neither a barrier nor, for lanes of one warp,
// bar.warp.sync. That ends the launch, whatever the values are. A store comes
// after loads of lanes that have come together since, in a shuffle for example.
// Exempt are volatile accesses, and stores of the value that is there.

#ifndef ARK_TESTS_EMULATION_RACES_H
#define ARK_TESTS_EMULATION_RACES_H

#include "simt.h"

namespace simt {

/// Who accessed memory, and the last barriers that came before.
struct Stamp {
  uint32_t barrierTime = 0, warpTime = 0, meetTime = 0;
  int32_t thread = 0;
};

/// That of the current thread.
Stamp getStamp();

/// Whether what has this stamp comes before all that the current thread does.
bool isOrdered(const Stamp &stamp);

/// Begins a launch whose CTAs have so many bytes of shared memory.
void beginRaces(int ctas, int64_t bytes);

/// The current thread accesses shared memory.
void noteSharedRead(const void *at, int64_t bytes);
void noteSharedWrite(const void *at, int64_t bytes);

/// The thread makes the hardware write there.
void noteAsyncWrite(const void *at, int64_t bytes);

/// The current thread stores to global memory.
void noteStore();

/// All that the CTA has stored up to this time comes before what the thread
/// does now: by its own order, or by barriers.
uint32_t getOrderedTime();

} // namespace simt

#endif // ARK_TESTS_EMULATION_RACES_H
