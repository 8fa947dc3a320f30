//===- memory.h - Global memory in the order that CTAs see it ---*- C++ -*-===//
//
// Every word of global memory has the values that it had since the launch
// began, newest first: versions. A CTA must see a version once something that
// it acquired, directly or through others, was released after the store. Until
// then a weak load returns that version or an older one, as the seed has it,
// and a relaxed load an older one for some time only. So stores become visible
// late and out of order, and nothing else makes a weak load see them than
// release and acquire of a scope that holds both CTAs.
//
// With several GPUs, the scope `.gpu` holds the CTAs of one GPU. A GPU accesses
// memory of another one only where it was given access, and atomically only at
// the scope of the system.
//
// What a CTA must see is known for all of its threads together: its view. It
// has, for every other CTA and for the host, the time up to which their stores
// are visible. Whether threads of one CTA wait for each other shows in the
// order in which they take turns.

#ifndef ARK_TESTS_EMULATION_MEMORY_H
#define ARK_TESTS_EMULATION_MEMORY_H

#include "simt.h"

#include <mutex>
#include <vector>

namespace simt {

enum class Scope { Cta, Gpu, Sys };
/// The path by which memory is accessed: that of threads, or that of copies by
/// the hardware.
enum class Proxy { Generic, Async };

/// Begins a launch with the GPU of each CTA, and ends it.
void beginMemory(const std::vector<int> &deviceOf);
void endMemory();

/// The launch's events so far. `tick` counts one more.
uint32_t getTime();
uint32_t tick();

/// Whether a thread has looked at memory of the host since the last call.
bool takeWaitForHost();

/// Held by whoever touches memory or state of a launch.
std::mutex &getMutex();

/// Loads and stores of the current CTA. They end the launch where memory is
/// outside of all buffers.
void readWeak(void *to, const char *from, int64_t bytes, Proxy proxy);
void writeWeak(char *to, const void *from, int64_t bytes);
uint64_t loadStrong(const char *from, int bytes, bool acquires, Scope scope);
void storeStrong(char *to, uint64_t value, int bytes, bool releases,
                 Scope scope);

/// Replaces a value by `change` of it. Returns the old one.
using Change = std::function<uint64_t(uint64_t)>;
uint64_t exchange(char *at, int bytes, bool acquires, bool releases,
                  Scope scope, const Change &change);

/// Orders what the thread did before and does after, for relaxed accesses.
void fence(Scope scope);
/// What the CTA sees of global memory, its copies see from now on.
void fenceAsyncProxy();

/// Ends the launch unless all of it is in one buffer that the GPU may access.
void checkBuffer(const char *what, const char *at, int64_t bytes);
/// The same, and unless it is aligned.
void checkGlobal(const char *what, const void *at, int64_t bytes,
                 int64_t alignment);

/// Whether an address is on the stack of one of the launch's threads.
bool isOnStack(const void *address);

} // namespace simt

#endif // ARK_TESTS_EMULATION_MEMORY_H
