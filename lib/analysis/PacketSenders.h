//===- PacketSenders.h - Senders of the packets of a run --------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PACKETSENDERS_H
#define ARK_LIB_ANALYSIS_PACKETSENDERS_H

#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// For every run, the runs that send its packets. A run that receives packets
/// ends only after the runs that send them, although no item of its lane waits
/// for these runs.
class PacketSenders {
public:
  /// Fails with an error if an operand cannot be resolved to bytes.
  static FailureOr<PacketSenders> compute(const ExpandedSchedule &schedule);

  /// Visits the senders of a run: for every sending task and every lane, the
  /// last item that the run needs.
  void forEach(ItemRef run, llvm::function_ref<void(ItemRef)> visit) const;
  /// Returns the first sender that has not happened according to `hasHappened`.
  std::optional<ItemRef>
  findMissing(ItemRef run, llvm::function_ref<bool(ItemRef)> hasHappened) const;

private:
  /// Empty if the program has no packets.
  std::optional<RunDependences> needs;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PACKETSENDERS_H
