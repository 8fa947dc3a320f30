//===- LaneUnits.h - Order of the units of a pipeline in lanes --*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_LANEUNITS_H
#define ARK_PASSES_SCHEDULING_LANEUNITS_H

#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {

/// The times from which a lane may execute a unit of a pipeline: a gap before
/// the end of an earlier unit stays free for tasks without a unit. Otherwise a
/// lane would begin more and more microbatches while it waits for other ranks.
class LaneUnits {
public:
  explicit LaneUnits(size_t lanes) : lanes(lanes) {}

  /// Records a work item of a task with this pin, after all work items of
  /// earlier units.
  void add(unsigned lane, const Placement::Pin &pin, double end) {
    if (!pin.unit)
      return;
    Progress &progress = lanes[lane];
    if (*pin.unit > progress.unit) {
      progress.unit = *pin.unit;
      progress.start = progress.end;
    }
    progress.end = std::max(progress.end, end);
  }

  /// Returns the earliest start of a work item of a task with this pin.
  double getStart(unsigned lane, const Placement::Pin &pin) const {
    const Progress &progress = lanes[lane];
    if (!pin.unit || *pin.unit < progress.unit)
      return 0;
    return *pin.unit == progress.unit ? progress.start : progress.end;
  }

private:
  struct Progress {
    /// The last unit of the lane so far.
    unsigned unit = 0;
    /// The ends of the units before it, and of all units.
    double start = 0, end = 0;
  };

  std::vector<Progress> lanes;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_LANEUNITS_H
