//===- memory.h - Global memory in the order that CTAs see it ---*- C++ -*-===//
//
// Every word of global memory has all values since the start of the launch,
// newest first: its versions. A CTA must see a version if it has acquired,
// directly or through other CTAs, something that was released after the store.
// Otherwise a weak load returns this version or an older one, depending on the
// seed, and a relaxed load returns an older one only for a limited time. So
// stores become visible late and out of order, and a weak load is only sure to
// see them after a release and an acquire at a scope that includes both CTAs.
//
// With several GPUs, the scope `.gpu` holds the CTAs of one GPU. A GPU accesses
// memory of another one only where it was given access, and atomically only at
// the scope of the system. A run fails if a strong load and a store of another
// GPU race, unless both are at that scope.
//
// The view of a CTA states which stores all of its threads must see: for every
// other CTA and for the host, the time up to which their stores are visible.
// Synchronisation between threads of one CTA shows in the order of their turns.

#ifndef ARK_TESTS_EMULATION_MEMORY_H
#define ARK_TESTS_EMULATION_MEMORY_H

#include "simt.h"

#include <mutex>
#include <vector>

namespace simt {

enum class Scope { Cta, Gpu, Sys };
/// The path of an access to memory: by threads, or by copies of the hardware.
enum class Proxy { Generic, Async };

/// Begins a launch with the GPU of each CTA, and ends it.
void beginMemory(const std::vector<int> &deviceOf);
void endMemory();

/// The launch's events so far. `tick` counts one more.
uint32_t getTime();
uint32_t tick();

/// Returns true if a thread has read memory of the host since the last call.
bool takeWaitForHost();

/// Protects memory and the state of a launch.
std::mutex &getMutex();

/// Loads and stores of the current CTA. The functions end the launch if memory
/// is outside of all buffers.
void readWeak(void *to, const char *from, int64_t bytes, Proxy proxy);
void writeWeak(char *to, const void *from, int64_t bytes);
uint64_t loadStrong(const char *from, int bytes, bool acquires, Scope scope);
void storeStrong(char *to, uint64_t value, int bytes, bool releases,
                 Scope scope);

/// Replaces a value by the result of `change`. Returns the old value.
using Change = std::function<uint64_t(uint64_t)>;
uint64_t exchange(char *at, int bytes, bool acquires, bool releases,
                  Scope scope, const Change &change);

/// Orders the thread's earlier and later relaxed accesses. In GPUs of AMD, the
/// thread's next wait for stores completes the release.
void fence(Scope scope);
/// Waits until the stores of the current warp have arrived. In GPUs of AMD, a
/// release passes on only stores that their warps have waited for.
void waitForStores();
/// Makes everything visible to the CTA also visible to its later copies.
void fenceAsyncProxy();

/// Accesses of network adapters. A capture stands for what the current thread
/// has released to all GPUs by its last fence. A copy that begins at a capture
/// sees this; the capture -1 stands for nothing. An addition passes on the
/// capture, and all that network adapters have written.
int captureForNetwork();
void readForNetwork(int capture, void *to, const char *from, int64_t bytes);
void writeFromNetwork(char *to, const void *from, int64_t bytes);
void addFromNetwork(char *counter, uint64_t value, int capture);

/// Returns a capture of what the last strong store to a word of the host has
/// released to the host, or -1 if it has released nothing.
int captureOfHostWord(const char *at);
/// Returns the time up to which the current CTA must see what the host did.
uint32_t getHostTime();

/// Ends the launch unless one buffer that the GPU may access holds all bytes.
void checkBuffer(const char *access, const char *at, int64_t bytes);
/// Ends the launch as `checkBuffer` does, and if the address is not aligned.
void checkGlobal(const char *access, const void *at, int64_t bytes,
                 int64_t alignment);

/// Returns true if an address is on the stack of a thread of the launch.
bool isOnStack(const void *address);

} // namespace simt

#endif // ARK_TESTS_EMULATION_MEMORY_H
