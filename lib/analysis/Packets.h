//===- Packets.h - Tasks that put packets -----------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PACKETS_H
#define ARK_LIB_ANALYSIS_PACKETS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Whether a task writes packets: words that carry the epoch.
bool putsPackets(TaskOp task);

/// Why a wait cannot go by the packets of a task alone, or nothing: they are
/// all that its one vCTA writes, and lie side by side in the arena. The program
/// is on buffers.
std::optional<StringRef> findPacketObstacle(TaskOp task);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PACKETS_H
