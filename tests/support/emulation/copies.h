//===- copies.h - Copies beside the threads ---------------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_COPIES_H
#define ARK_TESTS_EMULATION_COPIES_H

#include "simt.h"

namespace simt {

/// Begins a launch.
void beginCopies(int ctas, int threads);

/// Says which copies of the current CTA are under way when it ends; null if
/// none is.
const char *describeOpenCopies();

/// A copy in bulk to shared memory, which ends with `bytes` at an mbarrier.
/// `read` writes them to their place; it is called at any time until then.
using Read = std::function<void()>;
void startBulkCopy(char *target, int64_t bytes, void *barrier,
                   const Read &read);

} // namespace simt

#endif // ARK_TESTS_EMULATION_COPIES_H
