//===- CostModel.h - What vCTAs and hand-offs cost --------------*- C++ -*-===//
//
// Estimates in nanoseconds from `#ark.target`, and from what tasks were
// measured to take where that is known. They decide between correct schedules
// and are shown in reports; nothing relies on them.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_COSTMODEL_H
#define ARK_LIB_ANALYSIS_COSTMODEL_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// The machine that a program, or the one around an op, runs on: the target of
/// its module, as many times as the program has ranks; null without a target.
TargetAttr findTarget(Operation *op);

/// One of `count` vCTAs of a task, which moves `bytes` and computes `flops`.
double predictVCTANs(TargetAttr target, int64_t count, double bytes,
                     double flops);
/// From the last of `arrivals` signals until a waiter goes on.
double predictHandoffNs(TargetAttr target, int64_t arrivals);

/// Totals over all vCTAs of a task.
struct TaskCost {
  int64_t bytesRead = 0, bytesWritten = 0, flops = 0;
  /// Bytes of parameters and constants among those read.
  int64_t weightBytes = 0;
};

/// Memory bandwidth and arithmetic overlap; the SMs share both.
///
/// A measured task takes what it took. Tasks without a measurement are
/// predicted to miss by as much as the median of those with one.
class CostModel {
public:
  /// Without a target in the module: a machine with `sms` SMs on which nothing
  /// but the proportions is realistic.
  CostModel(ProgramOp program, int64_t sms);

  TargetAttr getTarget() const { return target; }
  const TaskCost &getTask(unsigned task) const { return costs[task]; }
  /// Time of vCTAs [begin, end) of a task on one SM.
  double getRunNs(unsigned task, int64_t begin, int64_t end) const;
  /// All vCTAs of a task one after the other.
  double getTaskNs(unsigned task) const;

  /// From the last of `arrivals` signals until a waiter goes on.
  double getHandoffNs(int64_t arrivals) const;
  /// From the end of a run to the beginning of one that receives its packets.
  double getPacketNs() const;
  /// What one signal costs the lane that gives it.
  double getSignalNs() const;
  double getBarrierNs() const { return target.getBarrier(); }

private:
  struct VCTATimes {
    int64_t count;
    /// All the same, or sums over the first vCTAs where some are clipped.
    double uniform = 0;
    std::vector<double> sums;

    void scale(double factor);
  };

  void addTask(TaskOp task);
  void fitMeasurements(ArrayRef<TaskOp> tasks);

  TargetAttr target;
  std::vector<TaskCost> costs;
  std::vector<VCTATimes> times;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_COSTMODEL_H
