//===- CostModel.cpp - Cost of vCTAs and hand-offs ------------------------===//

#include "lib/analysis/CostModel.h"
#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkKnownTargets.h"
#include "dialects/ark/ArkMeasurements.h"
#include "lib/analysis/BodyCost.h"
#include "lib/analysis/ExchangeCost.h"
#include "lib/analysis/Regions.h"
#include "lib/support/BufferView.h"
#include "lib/support/PlanRank.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Maximum bandwidth that one SM can use, in multiples of its equal share.
static constexpr double kMaxBandwidthShare = 2;

TargetAttr mlir::ark::findRankTarget(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                : TargetAttr();
}

TargetAttr mlir::ark::findTarget(Operation *op) {
  TargetAttr target = findRankTarget(op);
  auto program = dyn_cast<ProgramOp>(op);
  if (!program)
    program = op->getParentOfType<ProgramOp>();
  int64_t ranks = program ? program.getNumRanks() : 1;
  if (!target || ranks == 1)
    return target;
  return TargetAttr::get(
      target.getContext(), target.getBackend(), target.getArch(),
      target.getSms() * ranks, target.getWarps(), target.getSharedMemory(),
      target.getBandwidth() * ranks, target.getFlops() * ranks,
      target.getHandoff(), target.getBarrier(), target.getOverhead(),
      target.getGpu());
}

/// Returns the size of one box of an operand as a fraction of the full region.
static double getShare(const RegionBoxes &boxes, unsigned box,
                       RegionAttr region) {
  double share = 1;
  for (auto [range, size] : llvm::zip(boxes.getBox(box), region.getSizes()))
    share *= double(range.second - range.first) / size;
  return share;
}

/// The sizes of the boxes of an operand, one for each vCTA, as fractions of the
/// full region. Layers and ranks have tasks with equal operands.
class CostModel::OperandShares {
public:
  ArrayRef<double> get(TaskOp task, unsigned operand) {
    RegionAttr region = task.getRegion(operand);
    auto type = cast<ShapedType>(task.getOperand(operand).getType());
    std::vector<double> &entry = shares[{region, task.getGridAttr(), type}];
    if (entry.empty()) {
      RegionBoxes boxes(region, task.getGrid(), type.getShape());
      for (int64_t vcta = 0; vcta < task.getNumVCTAs(); ++vcta)
        entry.push_back(getShare(boxes, boxes.getBoxOf(vcta), region));
    }
    return entry;
  }

private:
  llvm::DenseMap<std::tuple<Attribute, Attribute, Type>, std::vector<double>>
      shares;
};

CostModel::CostModel(ProgramOp program, int64_t sms, LinkTimes linkTimes)
    : target(findTarget(program)),
      links(findLinks(program.getContext(), target)), linkTimes(linkTimes),
      ranks(program.getNumRanks()) {
  if (!target)
    target = TargetAttr::get(program.getContext(), kCpuBackend, "unknown", sms,
                             /*warps=*/1, /*sharedMemory=*/0,
                             /*bandwidth=*/100, /*flops=*/1000,
                             /*handoff=*/1000, /*barrier=*/2000,
                             /*overhead=*/100, /*gpu=*/GpuAttr());
  auto arenas = program.getBody().getOps<ArenaOp>();
  if (linkTimes == LinkTimes::Include && ranks > 1 && target.isGpu() &&
      !arenas.empty())
    bytesPerRank = getBufferBytes((*arenas.begin()).getType()) / ranks;
  auto tasks = llvm::to_vector(program.getBody().getOps<TaskOp>());
  OperandShares shares;
  for (TaskOp task : tasks)
    addTask(task, shares);
  fitMeasurements(tasks);
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

void CostModel::VCTATimes::scale(double factor) {
  uniform *= factor;
  for (double &sum : sums)
    sum *= factor;
}

/// Scales the times of every task to its measurement. Tasks without a
/// measurement are scaled by the median factor. One factor per task keeps the
/// ratio between clipped vCTAs and the first vCTA, which is not clipped.
void CostModel::fitMeasurements(ArrayRef<TaskOp> tasks) {
  SmallVector<std::optional<double>> factors;
  SmallVector<double> known;
  for (auto [position, task] : llvm::enumerate(tasks)) {
    std::optional<double> ns = getMeasuredNs(task);
    double predicted = getWorkItemNs(position, 0, 1);
    factors.push_back(ns && predicted > 0 ? std::optional(*ns / predicted)
                                          : std::nullopt);
    if (factors.back())
      known.push_back(*factors.back());
  }
  if (known.empty())
    return;
  auto median = known.begin() + known.size() / 2;
  std::nth_element(known.begin(), median, known.end());
  for (auto [time, factor] : llvm::zip(times, factors))
    time.scale(factor.value_or(*median));
}

//===----------------------------------------------------------------------===//
// vCTAs
//===----------------------------------------------------------------------===//

double mlir::ark::predictVCTANs(TargetAttr target, int64_t count, double bytes,
                                double flops) {
  double sms = target.getSms();
  // If few SMs work, each SM gets a larger share of the bandwidth, but a single
  // SM cannot use the whole bandwidth.
  double shares = std::max<double>(count, sms / kMaxBandwidthShare);
  double perSm = target.getBandwidth() / std::min(sms, shares);
  // GB/s is bytes per ns, and GFLOP/s operations per ns.
  return target.getOverhead() +
         std::max(bytes / perSm, flops * sms / target.getFlops());
}

static bool isWeight(TaskOp task, Value operand) {
  FailureOr<BufferView> view = resolveBufferView(operand);
  if (failed(view))
    return false;
  auto argument = dyn_cast<BlockArgument>(view->root);
  auto program = dyn_cast<ProgramOp>(task->getParentOp());
  if (!argument || !program)
    return false;
  ArgumentKind kind = program.getArgumentKind(argument.getArgNumber());
  return kind == ArgumentKind::Parameter || kind == ArgumentKind::Constant;
}

/// Returns the bytes that a task writes to the parts of the arena that belong
/// to other ranks.
int64_t CostModel::countRemoteBytes(TaskOp task) const {
  if (bytesPerRank == 0)
    return 0;
  int64_t bytes = 0;
  for (auto [index, out] : llvm::enumerate(task.getOuts())) {
    FailureOr<BufferView> view = resolveBufferView(out);
    if (succeeded(view) && view->root.getDefiningOp<ArenaOp>() &&
        view->byteOffset / bytesPerRank != getRank(task))
      bytes += countTouchedBytes(task, task.getInputs().size() + index) *
               task.getNumVCTAs();
  }
  return bytes;
}

/// Predicts the time of one vCTA of a task that `sms` SMs of a rank execute.
double CostModel::predictNs(int64_t sms, double bytes, double remoteBytes,
                            double flops) const {
  // The target describes all ranks, which are assumed to do the same.
  double ns = predictVCTANs(target, sms * ranks, bytes, flops);
  if (remoteBytes == 0)
    return ns;
  return std::max(ns, predictRemoteStoreNs(links, remoteBytes, sms));
}

void CostModel::addTask(TaskOp task, OperandShares &shares) {
  TaskCost &cost = costs.emplace_back();
  VCTATimes &time = times.emplace_back();
  time.count = task.getNumVCTAs();

  // The bytes of every vCTA, and the share of the work of every vCTA, which is
  // the fraction of the outs that the vCTA writes.
  std::vector<double> bytes(time.count, 0), share(time.count, 1);
  bool clipped = false;
  size_t inputs = task.getInputs().size();
  for (unsigned operand = 0; operand < task.getNumOperands(); ++operand) {
    ArrayRef<double> parts = shares.get(task, operand);
    double full = countTouchedBytes(task, operand);
    // An operand that is updated in place is read as well.
    bool isWrite = operand >= inputs;
    bool isUpdate = isWrite && task.isUpdated(operand - inputs);
    double directions = isUpdate ? 2 : 1;
    double total = 0;
    for (int64_t vcta = 0; vcta < time.count; ++vcta) {
      double part = parts[vcta];
      clipped |= part != 1;
      bytes[vcta] += part * full * directions;
      if (isWrite)
        share[vcta] = std::min(share[vcta], part);
      total += part * full;
    }
    if (isWrite)
      cost.bytesWritten += total;
    if (!isWrite || isUpdate)
      cost.bytesRead += total;
    if (!isWrite && isWeight(task, task.getOperand(operand)))
      cost.weightBytes += total;
  }

  // On a GPU, the lane starts the copy and continues.
  if (getNetworkPeer(task) && target.isGpu()) {
    time.uniform = linkTimes == LinkTimes::Include
                       ? predictNetworkNs(cost.bytesWritten)
                       : target.getOverhead();
    return;
  }
  double flops = countBodyFlops(task);
  cost.remoteBytes = countRemoteBytes(task);
  double remote = double(cost.remoteBytes) / std::max<int64_t>(time.count, 1);
  int64_t sms = std::min(time.count, target.getSms() / ranks);
  auto getNs = [&](int64_t vcta) {
    return predictNs(sms, bytes[vcta], remote * share[vcta],
                     flops * share[vcta]);
  };
  for (double part : share)
    cost.flops += flops * part;
  if (!clipped) {
    time.uniform = time.count > 0 ? getNs(0) : 0;
    return;
  }
  time.sums.push_back(0);
  for (int64_t vcta = 0; vcta < time.count; ++vcta)
    time.sums.push_back(time.sums.back() + getNs(vcta));
}

double CostModel::getWorkItemNs(unsigned task, int64_t begin,
                                int64_t end) const {
  const VCTATimes &time = times[task];
  return time.sums.empty() ? time.uniform * (end - begin)
                           : time.sums[end] - time.sums[begin];
}

double CostModel::getWorkItemNs(unsigned task, int64_t begin, int64_t end,
                                int64_t sms) const {
  const TaskCost &cost = costs[task];
  int64_t count = times[task].count;
  int64_t all = std::min(count, target.getSms() / ranks);
  double ns = getWorkItemNs(task, begin, end);
  // Bandwidth need not limit a task on more than half of the SMs: a product
  // reads most of its operands from caches.
  if (ranks == 1 || count == 0 || sms > all / 2)
    return ns;
  // One factor per task keeps the ratio between clipped vCTAs and others.
  auto getMeanNs = [&](int64_t sms) {
    return predictNs(sms, double(cost.bytesRead + cost.bytesWritten) / count,
                     double(cost.remoteBytes) / count,
                     double(cost.flops) / count);
  };
  return ns * getMeanNs(sms) / getMeanNs(all);
}

double CostModel::getTaskNs(unsigned task) const {
  return getWorkItemNs(task, 0, times[task].count);
}

//===----------------------------------------------------------------------===//
// Hand-offs
//===----------------------------------------------------------------------===//

double mlir::ark::predictHandoffNs(TargetAttr target, int64_t arrivals) {
  // Arrivals at one counter follow each other. Every SM arrives at the counter
  // of a barrier, so the barrier shows the cost of one more arrival.
  double spread =
      std::max<double>(0, target.getBarrier() - target.getHandoff());
  return target.getHandoff() + spread * (arrivals - 1) / target.getSms();
}

double CostModel::getHandoffNs(int64_t arrivals) const {
  return predictHandoffNs(target, arrivals);
}

/// A packet takes one store and one load. A signal adds a store after the store
/// of the data, and a load before the load of the data.
double CostModel::getPacketNs() const { return target.getHandoff() / 2.0; }

double CostModel::getSignalNs() const {
  // The lane waits until its signal is sent, not until another lane sees it.
  return target.getHandoff() / 4.0;
}
