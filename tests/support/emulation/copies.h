//===- copies.h - Copies beside the threads ---------------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_COPIES_H
#define ARK_TESTS_EMULATION_COPIES_H

#include "simt.h"

namespace simt {

/// Begins a launch.
void beginCopies(int ctas, int threads);

/// Describes the copies of the current CTA that are in flight when it ends;
/// returns null if there are none.
const char *describeOpenCopies();

/// Starts a copy of 16 bytes by the current thread, as a part of a copy of its
/// warp. The copies of a thread end in order.
void startWarpCopy(char *target, const char *source);
/// Ends such copies of the current thread until at most `most` are in flight.
void waitForWarpCopies(int most);

/// Starts a bulk copy to shared memory, which completes with `bytes` at an
/// mbarrier. `read` copies the data at any time before the completion.
using Read = std::function<void()>;
void startBulkCopy(char *target, int64_t bytes, void *barrier,
                   const Read &read);

} // namespace simt

#endif // ARK_TESTS_EMULATION_COPIES_H
