//===- races.h - Accesses of threads that nothing orders --------*- C++ -*-===//
//
// A race: two threads of a CTA access the same bytes of shared or global
// memory, at least one writes, and between the accesses there is neither a
// barrier nor, for threads of one warp, bar.warp.sync. A race ends the launch,
// whatever the values are. A store is ordered after loads of threads that have
// since met in a warp-level instruction such as a shuffle. Volatile accesses,
// and two stores of the same value, are exempt.

#ifndef ARK_TESTS_EMULATION_RACES_H
#define ARK_TESTS_EMULATION_RACES_H

#include "simt.h"

namespace simt {

/// The thread that accessed memory, and the last barriers before the access.
struct Stamp {
  uint32_t barrierTime = 0, warpTime = 0, convergenceTime = 0;
  int32_t thread = 0;
};

/// Returns the stamp of the current thread.
Stamp getStamp();

/// Returns true if an access with this stamp is ordered before the current
/// thread's next one.
bool isOrdered(const Stamp &stamp);

/// Begins a launch.
void beginRaces(int ctas);

/// Records an access of the current thread to shared memory. Threads may store
/// the same value without an order, so a store may not change it.
void noteSharedRead(const void *at, int64_t bytes);
void noteSharedWrite(const void *at, int64_t bytes, bool changes);

/// Ends the launch if threads of other warps than `warp` have written to shared
/// memory that an instruction of this warp reads, without a barrier since.
void checkReadByWarp(const void *at, int64_t bytes, int warp);

/// Records that the thread makes the hardware write to shared memory.
void noteAsyncWrite(const void *at, int64_t bytes);

/// Records that the current thread reads global memory.
void noteGlobalRead(const void *at, int64_t bytes);

/// Ends the launch if another thread of the CTA has read global memory to which
/// the current thread stores, without an order between the two.
void checkGlobalLoads(const void *at, int64_t bytes);

/// Records a store of the current thread to global memory.
void noteStore();

/// Returns the time up to which all stores of the CTA are ordered before the
/// current operation of the thread, by its own order or by barriers.
uint32_t getOrderedTime();

} // namespace simt

#endif // ARK_TESTS_EMULATION_RACES_H
