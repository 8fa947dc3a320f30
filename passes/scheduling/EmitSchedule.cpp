//===- EmitSchedule.cpp - Emit lanes as IR --------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Minimum number of SMs of a lane op with affine ranges. Affine maps fit any
/// two ranges, so the maps of a lane op for two SMs would state no pattern.
static constexpr int64_t kSmallestGroup = 3;

//===----------------------------------------------------------------------===//
// Ranges affine in the SM
//===----------------------------------------------------------------------===//

static AffineMap makeRange(AffineExpr begin, AffineExpr end) {
  return AffineMap::get(1, 0, {begin, end}, begin.getContext());
}

/// Returns true if an expression has these values on the SMs from `first` on.
static bool matchesValues(AffineExpr expr, int64_t first,
                          ArrayRef<int64_t> values) {
  for (auto [index, value] : llvm::enumerate(values))
    if (evaluateAffine(expr, {first + static_cast<int64_t>(index)}) != value)
      return false;
  return true;
}

/// Fits `d0 * a + b`.
static std::optional<AffineExpr> fitLinear(MLIRContext *context, int64_t first,
                                           ArrayRef<int64_t> values) {
  int64_t step = values.size() > 1 ? values[1] - values[0] : 0;
  AffineExpr expr =
      getAffineDimExpr(0, context) * step + (values[0] - first * step);
  return matchesValues(expr, first, values) ? std::make_optional(expr)
                                            : std::nullopt;
}

/// Fits the ranges of a round-robin division: position `p` of `sms` gets `[p *
/// count floordiv sms, (p + 1) * count floordiv sms)`.
static std::optional<AffineMap>
fitRoundRobin(MLIRContext *context, int64_t first, ArrayRef<int64_t> begins,
              ArrayRef<int64_t> ends, Interval pinnedSms, int64_t count) {
  int64_t sms = pinnedSms.second - pinnedSms.first;
  // The SM with the first vCTA, if it is in the group, determines the rotation.
  auto hasFirst = [&](size_t i) { return begins[i] == 0 && ends[i] > 0; };
  auto owner = llvm::find_if(llvm::seq<size_t>(0, begins.size()), hasFirst);
  if (owner == llvm::seq<size_t>(0, begins.size()).end())
    return std::nullopt;
  int64_t ownerPosition = (sms + count - 1) / count - 1;
  int64_t rotation = first + static_cast<int64_t>(*owner) - ownerPosition;
  AffineExpr sm = getAffineDimExpr(0, context);
  AffineExpr position = sm - rotation;
  // Without a wrap-around, the plain difference is easier to read.
  if (first < rotation || rotation + sms < first + int64_t(begins.size()))
    position = position % sms;
  AffineExpr begin = (position * count).floorDiv(sms);
  AffineExpr end = ((position + 1) * count).floorDiv(sms);
  if (!matchesValues(begin, first, begins) || !matchesValues(end, first, ends))
    return std::nullopt;
  return makeRange(begin, end);
}

//===----------------------------------------------------------------------===//
// Work items of independent vCTAs
//===----------------------------------------------------------------------===//

/// Returns, for every vCTA of a task, the last earlier vCTA of the same task
/// that it depends on, or -1. The result is empty if no vCTA depends on its own
/// task, which is usual.
static std::vector<int64_t> findLastNeeded(const Dependences &dependences,
                                           unsigned task) {
  std::vector<int64_t> lastNeeded;
  for (const Dependence &dependence : dependences.getIncoming(task)) {
    if (dependence.producer != task)
      continue;
    int64_t count = dependence.relation->setOf.size();
    lastNeeded.resize(count, -1);
    for (int64_t vcta = 0; vcta < count; ++vcta)
      for (Interval range : dependence.relation->getProducersOf(vcta))
        lastNeeded[vcta] = std::max(lastNeeded[vcta], range.second - 1);
  }
  return lastNeeded;
}

/// Splits work items so that no vCTA depends on another vCTA of its work item,
/// because the vCTAs of a work item may execute concurrently.
static ScheduledLanes splitDependent(const Dependences &dependences,
                                     const ScheduledLanes &lanes) {
  std::vector<std::vector<int64_t>> lastNeeded;
  for (unsigned task = 0; task < dependences.getTasks().size(); ++task)
    lastNeeded.push_back(findLastNeeded(dependences, task));
  ScheduledLanes result(lanes.size());
  for (auto [lane, workItems] : llvm::zip(result, lanes))
    for (ScheduledWorkItem workItem : workItems) {
      ArrayRef<int64_t> ofTask = lastNeeded[workItem.task];
      for (int64_t vcta = workItem.begin + 1;
           !ofTask.empty() && vcta < workItem.end; ++vcta) {
        if (ofTask[vcta] < workItem.begin)
          continue;
        lane.push_back({workItem.task, workItem.begin, vcta});
        workItem.begin = vcta;
      }
      lane.push_back(workItem);
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

namespace {
class ScheduleEmitter {
public:
  ScheduleEmitter(OpBuilder &builder, const SchedulerInput &input,
                  const ScheduledLanes &lanes)
      : builder(builder), input(input), lanes(lanes) {}

  void emitSMLane(unsigned smLane);

private:
  void emitGroup(unsigned smLane, Interval sms);
  std::optional<AffineMap> fitRange(unsigned smLane, Interval sms,
                                    size_t index);
  bool haveSameTasks(unsigned smLane, int64_t a, int64_t b) const;
  ArrayRef<ScheduledWorkItem> getWorkItems(unsigned smLane, int64_t sm) const {
    return lanes[smLane * input.target.getSms() + sm];
  }

  OpBuilder &builder;
  const SchedulerInput &input;
  const ScheduledLanes &lanes;
};
} // namespace

std::optional<AffineMap> ScheduleEmitter::fitRange(unsigned smLane,
                                                   Interval sms, size_t index) {
  SmallVector<int64_t> begins, ends;
  for (int64_t sm = sms.first; sm < sms.second; ++sm) {
    begins.push_back(getWorkItems(smLane, sm)[index].begin);
    ends.push_back(getWorkItems(smLane, sm)[index].end);
  }
  MLIRContext *context = builder.getContext();
  auto begin = fitLinear(context, sms.first, begins);
  auto end = fitLinear(context, sms.first, ends);
  if (begin && end)
    return makeRange(*begin, *end);
  unsigned task = getWorkItems(smLane, sms.first)[index].task;
  return fitRoundRobin(context, sms.first, begins, ends,
                       input.placement.pins[task].sms,
                       input.dependences.getTask(task).getNumVCTAs());
}

bool ScheduleEmitter::haveSameTasks(unsigned smLane, int64_t a,
                                    int64_t b) const {
  return llvm::equal(
      getWorkItems(smLane, a), getWorkItems(smLane, b),
      [](const ScheduledWorkItem &x, const ScheduledWorkItem &y) {
        return x.task == y.task;
      });
}

/// Emits SMs whose lanes have the same tasks: as one lane op if affine maps fit
/// all ranges of vCTAs, otherwise as two halves.
void ScheduleEmitter::emitGroup(unsigned smLane, Interval sms) {
  size_t count = getWorkItems(smLane, sms.first).size();
  if (count == 0)
    return;
  SmallVector<AffineMap> ranges;
  bool regular = sms.second - sms.first == 1 ||
                 sms.second - sms.first >= kSmallestGroup ||
                 sms.second - sms.first == input.target.getSms();
  for (size_t index = 0; regular && index < count; ++index) {
    std::optional<AffineMap> range = fitRange(smLane, sms, index);
    regular = range.has_value();
    if (range)
      ranges.push_back(*range);
  }
  if (!regular) {
    int64_t middle = (sms.first + sms.second) / 2;
    emitGroup(smLane, {sms.first, middle});
    emitGroup(smLane, {middle, sms.second});
    return;
  }

  const Placement::SMLane &resources = input.placement.smLanes[smLane];
  auto toAttr = [&](Interval range) {
    return builder.getDenseI64ArrayAttr({range.first, range.second});
  };
  auto lane =
      LaneOp::create(builder, ProgramOp(input.program).getLoc(), toAttr(sms),
                     toAttr(resources.warps),
                     resources.sharedMemory ? toAttr(*resources.sharedMemory)
                                            : DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&lane.getBody());
  for (auto [workItem, range] :
       llvm::zip(getWorkItems(smLane, sms.first), ranges)) {
    TaskOp task = input.dependences.getTask(workItem.task);
    RunOp::create(builder, task.getLoc(), task.getName(), range);
  }
}

void ScheduleEmitter::emitSMLane(unsigned smLane) {
  for (int64_t sm = 0, sms = input.target.getSms(); sm < sms;) {
    int64_t first = sm++;
    while (sm < sms && haveSameTasks(smLane, first, sm))
      ++sm;
    emitGroup(smLane, {first, sm});
  }
}

ScheduleOp mlir::ark::emitSchedule(OpBuilder &builder, StringRef scheduler,
                                   const SchedulerInput &input,
                                   const ScheduledLanes &lanes) {
  OpBuilder::InsertionGuard guard(builder);
  auto schedule = ScheduleOp::create(
      builder, ProgramOp(input.program).getLoc(),
      builder.getStringAttr(scheduler),
      builder.getI64IntegerAttr(input.target.getSms()), IntegerAttr());
  builder.createBlock(&schedule.getBody());
  ScheduledLanes split = splitDependent(input.dependences, lanes);
  ScheduleEmitter emitter(builder, input, split);
  for (unsigned smLane = 0; smLane < input.placement.smLanes.size(); ++smLane)
    emitter.emitSMLane(smLane);
  return schedule;
}
