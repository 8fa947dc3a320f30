//===- shared.h - Shared memory of the CTA whose turn it is -----*- C++ -*-===//
//
// All CTAs have their shared memory at the same addresses. The async proxy
// (bulk copies, wgmma) sees writes of threads after a proxy fence of the
// writer, or of a thread that has since met the writer at a barrier.

#ifndef ARK_TESTS_EMULATION_SHARED_H
#define ARK_TESTS_EMULATION_SHARED_H

#include "simt.h"

namespace simt {

/// Begins and ends a launch whose CTAs have `bytes` of shared memory each.
void beginShared(int ctas, int threads, int64_t bytes);
void endShared();

/// Begins the turn of a CTA.
void enterShared(int cta);

char *getShared();

/// Ends the launch unless all bytes are in shared memory, and aligned.
void checkShared(const char *access, const void *at, int64_t bytes,
                 int64_t alignment);

/// Records a write of the thread through the generic proxy, and a proxy fence.
void noteGenericWrite(const void *at, int64_t bytes);
void fenceSharedProxy();

/// Returns true if the async proxy sees the writes of threads to these bytes.
bool isFenced(const void *at, int64_t bytes);

} // namespace simt

#endif // ARK_TESTS_EMULATION_SHARED_H
