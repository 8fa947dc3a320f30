//===- shared.h - Shared memory of the CTA whose turn it is -----*- C++ -*-===//
//
// All CTAs see their shared memory at the same addresses. What threads write,
// the async proxy (copies in bulk, wgmma) sees after a proxy fence: of the
// writer, or of another thread that has met the writer at a barrier since.

#ifndef ARK_TESTS_EMULATION_SHARED_H
#define ARK_TESTS_EMULATION_SHARED_H

#include "simt.h"

namespace simt {

/// Begins and ends a launch, whose CTAs have so many bytes each.
void beginShared(int ctas, int threads, int64_t bytes);
void endShared();

/// The turn of a CTA begins.
void enterShared(int cta);

char *getShared();

/// Ends the launch unless all of it is in shared memory, and aligned.
void checkShared(const char *what, const void *at, int64_t bytes,
                 int64_t alignment);

/// The thread has written as threads do, and fences what threads have written.
void noteGenericWrite(const void *at, int64_t bytes);
void fenceSharedProxy();

/// Whether the async proxy sees what threads have written there.
bool isFenced(const void *at, int64_t bytes);

} // namespace simt

#endif // ARK_TESTS_EMULATION_SHARED_H
