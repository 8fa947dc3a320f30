//===- PacketSenders.h - Which runs a run receives packets of ---*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_PACKETSENDERS_H
#define ARK_LIB_ANALYSIS_PACKETSENDERS_H

#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// A run that receives packets ends only after the runs that send them, though
/// no item of its lane waits for those.
class PacketSenders {
public:
  /// Fails with an error where an operand cannot be resolved to bytes.
  static FailureOr<PacketSenders> compute(const ExpandedSchedule &schedule);

  /// One item a lane for every task that sends, the last one needed of it.
  void forEach(ItemRef run, llvm::function_ref<void(ItemRef)> visit) const;
  /// The first one that has not happened, as `hasHappened` says.
  std::optional<ItemRef>
  findMissing(ItemRef run, llvm::function_ref<bool(ItemRef)> hasHappened) const;

private:
  /// Nothing where the program has no packets.
  std::optional<RunDependences> needs;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_PACKETSENDERS_H
