//===- L2Map.h - The L2s of lanes -------------------------------*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_L2MAP_H
#define ARK_PASSES_SCHEDULING_L2MAP_H

#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {

/// The L2s of all lanes. Every rank has a GPU, whose L2s get the CTAs of its
/// launch in turn.
class L2Map {
public:
  explicit L2Map(const SchedulerInput &input);

  /// Returns lanes in the order of their start times, which `starts` has for
  /// every lane of the program. Of lanes with equal starts, those come first
  /// that share an L2 with the lane `home`, since a hand-off through this L2 is
  /// not slower than other hand-offs. If a GPU has one L2, the order of lanes
  /// with equal starts is unchanged.
  SmallVector<unsigned> sortLanes(ArrayRef<unsigned> lanes,
                                  ArrayRef<double> starts, unsigned home) const;

private:
  unsigned getL2(unsigned lane) const;

  unsigned sms, ranks;
  /// The number of L2s of one GPU.
  unsigned l2sOfRank;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_L2MAP_H
