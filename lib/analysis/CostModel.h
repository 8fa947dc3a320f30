//===- CostModel.h - Cost of vCTAs and hand-offs ----------------*- C++ -*-===//
//
// Estimates in nanoseconds, from `#ark.target` and from measured times of
// tasks, if any. Schedulers choose between correct schedules by these
// estimates, and reports print them. Correctness does not depend on the
// estimates.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_COSTMODEL_H
#define ARK_LIB_ANALYSIS_COSTMODEL_H

#include "dialects/ark/ArkOps.h"
#include "lib/analysis/BodyCost.h"

namespace mlir::ark {

/// Returns the machine that runs one rank of a program: the target of the
/// module, or null if the module has none. Every task belongs to one rank.
TargetAttr findRankTarget(Operation *op);

/// Returns the machine that runs a program, or that runs the program around an
/// op: the target of the module, with SMs, bandwidth and flops multiplied by
/// the number of ranks. Returns null if the module has no target.
TargetAttr findTarget(Operation *op);

/// Predicts the time of one vCTA that moves `bytes` and computes `flops`, in a
/// task of `count` vCTAs.
double predictVCTANs(TargetAttr target, int64_t count, double bytes,
                     double flops);
/// Predicts the time from the last of `arrivals` signals until the waiting lane
/// continues.
double predictHandoffNs(TargetAttr target, int64_t arrivals);

/// Totals over all vCTAs of a task.
struct TaskCost {
  int64_t bytesRead = 0, bytesWritten = 0, flops = 0;
  /// Bytes in the memory of other ranks, which `bytesWritten` includes.
  int64_t remoteBytes = 0;
  /// Bytes of parameters and constants, which `bytesRead` includes.
  int64_t weightBytes = 0;
};

/// Predicts the times of the tasks of a program. Memory traffic, stores to
/// other ranks and arithmetic overlap. The SMs of a rank share its bandwidth,
/// its flops and its links.
///
/// Products whose tiles the target lists take the time that was measured for
/// such a tile, which includes reads from the L2. DRAM delivers an operand of
/// such a product once to all SMs that read it at the same time.
///
/// A measured task costs its measured time. The prediction of a task without a
/// measurement is scaled by the median ratio of measured to predicted times.
class CostModel {
public:
  enum class LinkTimes { Include, Exclude };

  /// If the module has no target, assumes a machine with `sms` SMs. Predicted
  /// times are then realistic only in proportion to each other. `linkTimes`
  /// decides whether a task costs the time of its stores to other ranks, and of
  /// copies by network adapters.
  CostModel(ProgramOp program, int64_t sms,
            LinkTimes linkTimes = LinkTimes::Include);

  TargetAttr getTarget() const { return target; }
  const TaskCost &getTask(unsigned task) const { return costs[task]; }
  /// Returns the time of vCTAs [begin, end) of a task on one SM, if all SMs of
  /// the rank execute the task at the same time.
  double getWorkItemNs(unsigned task, int64_t begin, int64_t end) const;
  /// Returns the time of vCTAs [begin, end) of a task on one SM, if `sms` SMs
  /// of the rank execute the task. With several ranks, an SM gets a larger
  /// share of the bandwidth only if `sms` is at most half of the rank's SMs
  /// that the task can occupy.
  double getWorkItemNs(unsigned task, int64_t begin, int64_t end,
                       int64_t sms) const;
  /// Returns the time as `getWorkItemNs` if other SMs of the rank compute. The
  /// `sms` SMs then have more of the bandwidth. `linkTimes` decides whether the
  /// time includes that of stores to other ranks.
  double getNsBesideOthers(unsigned task, int64_t begin, int64_t end,
                           int64_t sms,
                           LinkTimes linkTimes = LinkTimes::Include) const;
  /// Returns the bytes that vCTAs [begin, end) store to other ranks.
  double getRemoteBytes(unsigned task, int64_t begin, int64_t end) const;
  /// Returns the rates of the links between the ranks.
  LinksAttr getLinks() const { return links; }
  /// Returns the time of all vCTAs of a task, one after the other.
  double getTaskNs(unsigned task) const;

  /// Returns the time from the last of `arrivals` signals until the waiting
  /// lane continues.
  double getHandoffNs(int64_t arrivals) const;
  /// Returns the time from the end of a work item to the start of a work item
  /// that receives its packets.
  double getPacketNs() const;
  /// Returns the cost of a signal for the signalling lane.
  double getSignalNs() const;
  double getBarrierNs() const { return target.getBarrier(); }

private:
  struct VCTATimes {
    int64_t count;
    /// The time of every vCTA, if none is clipped. Otherwise `sums` holds the
    /// sums over the first vCTAs.
    double uniform = 0;
    std::vector<double> sums;

    void scale(double factor);
  };

  /// The work of one vCTA of a task. If matrix units multiply tiles,
  /// `productsNs` is the time of the products, and `bytes` only counts the
  /// bytes that DRAM delivers. `threads` are the times of a GPU's threads in a
  /// body without such products.
  struct Work {
    double bytes = 0, remoteBytes = 0, flops = 0, productsNs = 0;
    ThreadTimes threads = {};
  };

  class OperandShares;
  void addTask(TaskOp task, OperandShares &shares);
  int64_t countRemoteBytes(TaskOp task) const;
  double predictNs(int64_t sms, const Work &work, double maxShare) const;
  bool hasLargerShare(unsigned task, int64_t sms) const;
  int64_t countSms(unsigned task) const;
  void fitMeasurements(ArrayRef<TaskOp> tasks);

  TargetAttr target;
  LinksAttr links;
  LinkTimes linkTimes;
  int64_t ranks;
  /// Bytes of one rank's part of the arena; 0 if no store crosses a link.
  int64_t bytesPerRank = 0;
  std::vector<TaskCost> costs;
  std::vector<VCTATimes> times;
  /// The mean over the vCTAs of every task.
  std::vector<Work> meanWork;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_COSTMODEL_H
