//===- Packets.h - Tasks that write packets ---------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PACKETS_H
#define ARK_LIB_ANALYSIS_PACKETS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns true if a task writes packets: words that carry the epoch.
bool putsPackets(TaskOp task);

/// Returns the reason why a wait cannot rely on the packets of a task alone, or
/// nothing if it can. A wait can if the task has one vCTA, if the vCTA writes
/// nothing but the packets, and if the packets lie side by side in the arena.
/// Requires a program on buffers.
std::optional<StringRef> findPacketObstacle(TaskOp task);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PACKETS_H
