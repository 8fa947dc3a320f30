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
/// Maximum bandwidth of an SM beside SMs that compute, in multiples of its
/// equal share: 89 GB/s on an H200. A scheduler keeps such SMs for exchanges. 8
/// SMs that add tensors of 32 MiB were measured to use 83 GB/s each, and 16 SMs
/// to use 64 GB/s each (benchmarks/results/2026-11-29-two-h200.md).
static constexpr double kMaxShareBesideOthers = 2.5;

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
  struct Shares {
    std::vector<double> ofVCTAs;
    /// The sum over boxes, each counted once for all vCTAs that access the box
    /// at the same time.
    double ofDRAM = 0;
  };

  /// Creates shares for tasks of which `sms` vCTAs run at the same time.
  explicit OperandShares(int64_t sms) : sms(sms) {}

  const Shares &get(TaskOp task, unsigned operand) {
    RegionAttr region = task.getRegion(operand);
    auto type = cast<ShapedType>(task.getOperand(operand).getType());
    Shares &entry = shares[{region, task.getGridAttr(), type}];
    if (entry.ofVCTAs.empty())
      fill(entry, RegionBoxes(region, task.getGrid(), type.getShape()), region);
    return entry;
  }

private:
  void fill(Shares &entry, const RegionBoxes &boxes, RegionAttr region) const {
    constexpr int64_t kNever = -1;
    std::vector<int64_t> lastWave(boxes.getNumBoxes(), kNever);
    for (int64_t vcta = 0; vcta < boxes.getNumVCTAs(); ++vcta) {
      unsigned box = boxes.getBoxOf(vcta);
      entry.ofVCTAs.push_back(getShare(boxes, box, region));
      if (std::exchange(lastWave[box], vcta / sms) != vcta / sms)
        entry.ofDRAM += entry.ofVCTAs.back();
    }
  }

  int64_t sms;
  llvm::DenseMap<std::tuple<Attribute, Attribute, Type>, Shares> shares;
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
  OperandShares shares(std::max<int64_t>(1, target.getSms() / ranks));
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

/// Predicts the time of one vCTA, as the public function, if an SM can use at
/// most `maxShare` equal shares of the bandwidth.
static double predictVCTANs(TargetAttr target, int64_t count, double bytes,
                            double flops, double maxShare) {
  double sms = target.getSms();
  // If few SMs work, each SM gets a larger share of the bandwidth, but a single
  // SM cannot use the whole bandwidth.
  double shares = std::max<double>(count, sms / maxShare);
  double perSm = target.getBandwidth() / std::min(sms, shares);
  // GB/s is bytes per ns, and GFLOP/s operations per ns.
  return target.getOverhead() +
         std::max(bytes / perSm, flops * sms / target.getFlops());
}

double mlir::ark::predictVCTANs(TargetAttr target, int64_t count, double bytes,
                                double flops) {
  return ::predictVCTANs(target, count, bytes, flops, kMaxBandwidthShare);
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
double CostModel::predictNs(int64_t sms, const Work &work,
                            double maxShare) const {
  // The target describes all ranks, which are assumed to do the same.
  double ns =
      ::predictVCTANs(target, sms * ranks, work.bytes, work.flops, maxShare);
  double computeNs = work.threads.arithmetic + work.threads.products;
  ns = std::max(ns, target.getOverhead() + computeNs) + work.threads.latency;
  if (work.remoteBytes > 0)
    ns = std::max(ns, predictRemoteStoreNs(links, work.remoteBytes, sms));
  return std::max(ns, work.productsNs);
}

void CostModel::addTask(TaskOp task, OperandShares &shares) {
  TaskCost &cost = costs.emplace_back();
  VCTATimes &time = times.emplace_back();
  time.count = task.getNumVCTAs();

  // The bytes of every vCTA, and the share of the work of every vCTA, which is
  // the fraction of the outs that the vCTA writes.
  std::vector<double> bytes(time.count, 0), share(time.count, 1);
  bool clipped = false;
  double bytesOfDRAM = 0;
  size_t inputs = task.getInputs().size();
  for (unsigned operand = 0; operand < task.getNumOperands(); ++operand) {
    const OperandShares::Shares &parts = shares.get(task, operand);
    double full = countTouchedBytes(task, operand);
    // An operand that is updated in place is read as well.
    bool isWrite = operand >= inputs;
    bool isUpdate = isWrite && task.isUpdated(operand - inputs);
    double directions = isUpdate ? 2 : 1;
    double total = 0;
    for (auto [vcta, part] : llvm::enumerate(parts.ofVCTAs)) {
      clipped |= part != 1;
      bytes[vcta] += part * full * directions;
      if (isWrite)
        share[vcta] = std::min(share[vcta], part);
      total += part * full;
    }
    bytesOfDRAM += parts.ofDRAM * full * directions;
    if (isWrite)
      cost.bytesWritten += total;
    if (!isWrite || isUpdate)
      cost.bytesRead += total;
    if (!isWrite && isWeight(task, task.getOperand(operand)))
      cost.weightBytes += total;
  }

  // On a GPU, the lane starts the copy and continues.
  if (getNetworkPeer(task) && target.isGpu()) {
    meanWork.emplace_back();
    time.uniform = linkTimes == LinkTimes::Include
                       ? predictNetworkNs(cost.bytesWritten)
                       : target.getOverhead();
    return;
  }
  double flops = countBodyFlops(task);
  double productsNs = predictProductsNs(task, target).value_or(0);
  ThreadTimes threads =
      predictThreads(task, target, ranks).value_or(ThreadTimes());
  // The threads read the products when these are complete.
  if (productsNs > 0)
    productsNs += threads.arithmetic;
  cost.remoteBytes = countRemoteBytes(task);
  double count = std::max<int64_t>(time.count, 1);
  double remote = cost.remoteBytes / count;
  int64_t sms = countSms(times.size() - 1);
  auto getNs = [&](int64_t vcta) {
    if (productsNs > 0)
      return predictNs(sms,
                       {bytesOfDRAM / count * share[vcta], remote * share[vcta],
                        /*flops=*/0, productsNs},
                       kMaxBandwidthShare);
    ThreadTimes own = {threads.arithmetic * share[vcta],
                       threads.products * share[vcta], threads.latency};
    return predictNs(sms,
                     {bytes[vcta], remote * share[vcta], flops * share[vcta],
                      /*productsNs=*/0, own},
                     kMaxBandwidthShare);
  };
  for (double part : share)
    cost.flops += flops * part;
  meanWork.push_back(
      productsNs > 0
          ? Work{bytesOfDRAM / count, remote, /*flops=*/0, productsNs}
          : Work{double(cost.bytesRead + cost.bytesWritten) / count, remote,
                 double(cost.flops) / count, /*productsNs=*/0, threads});
  if (!clipped) {
    time.uniform = time.count > 0 ? getNs(0) : 0;
    return;
  }
  time.sums.push_back(0);
  for (int64_t vcta = 0; vcta < time.count; ++vcta)
    time.sums.push_back(time.sums.back() + getNs(vcta));
}

/// Returns the number of SMs of a rank that a task can occupy.
int64_t CostModel::countSms(unsigned task) const {
  return std::min(times[task].count, target.getSms() / ranks);
}

double CostModel::getWorkItemNs(unsigned task, int64_t begin,
                                int64_t end) const {
  const VCTATimes &time = times[task];
  return time.sums.empty() ? time.uniform * (end - begin)
                           : time.sums[end] - time.sums[begin];
}

/// Returns true if a task on `sms` SMs has a larger share of the bandwidth than
/// on all SMs that it can occupy. Bandwidth need not limit a task on more than
/// half of these SMs: a product reads most of its operands from caches.
bool CostModel::hasLargerShare(unsigned task, int64_t sms) const {
  return ranks > 1 && times[task].count > 0 && sms <= countSms(task) / 2;
}

double CostModel::getWorkItemNs(unsigned task, int64_t begin, int64_t end,
                                int64_t sms) const {
  double ns = getWorkItemNs(task, begin, end);
  if (!hasLargerShare(task, sms))
    return ns;
  // One factor per task keeps the ratio between clipped vCTAs and others.
  const Work &work = meanWork[task];
  return ns * predictNs(sms, work, kMaxBandwidthShare) /
         predictNs(countSms(task), work, kMaxBandwidthShare);
}

double CostModel::getNsBesideOthers(unsigned task, int64_t begin, int64_t end,
                                    int64_t sms, LinkTimes linkTimes) const {
  double ns = getWorkItemNs(task, begin, end);
  Work work = meanWork[task];
  bool hasLarger = hasLargerShare(task, sms);
  if (!hasLarger && (work.remoteBytes == 0 || linkTimes == LinkTimes::Include))
    return ns;
  double onAll = predictNs(countSms(task), work, kMaxBandwidthShare);
  if (linkTimes == LinkTimes::Exclude)
    work.remoteBytes = 0;
  return ns / onAll *
         (hasLarger ? predictNs(sms, work, kMaxShareBesideOthers)
                    : predictNs(countSms(task), work, kMaxBandwidthShare));
}

double CostModel::getRemoteBytes(unsigned task, int64_t begin,
                                 int64_t end) const {
  return meanWork[task].remoteBytes * (end - begin);
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
