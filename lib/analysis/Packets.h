//===- Packets.h - Tasks that write packets ---------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PACKETS_H
#define ARK_LIB_ANALYSIS_PACKETS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns true if a task writes packets: words that carry the epoch.
bool putsPackets(TaskOp task);

/// Returns the reason why a wait for a task needs a semaphore beside the task's
/// packets, or nothing. Packets suffice if the task has one vCTA, the vCTA
/// writes only packets, and the packets are contiguous in the arena. Requires a
/// program on buffers.
std::optional<StringRef> findPacketObstacle(TaskOp task);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PACKETS_H
