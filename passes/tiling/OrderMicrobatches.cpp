//===- OrderMicrobatches.cpp - Order the units of a pipeline by 1F1B ------===//
//
// A pipeline divides a model into stages, and a batch into microbatches. Each
// rank has one stage or several ones. The order of its units, forward and
// backward, decides how long it waits for other ranks. This pass puts the tasks
// into the order of 1F1B: after a warm-up, every rank alternates between one
// forward and one backward unit, so that few microbatches are in flight.
//
//===----------------------------------------------------------------------===//

#include "lib/analysis/UnitOrder.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/PlanRank.h"
#include "lib/support/PlanUnit.h"
#include "passes/tiling/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>

namespace mlir::ark {
#define GEN_PASS_DEF_ORDERMICROBATCHESPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// 1F1B
//===----------------------------------------------------------------------===//

namespace {
/// The units of a rank by direction, each in the order of execution.
struct Directions {
  SmallVector<PlanUnit> forward, backward;
};
} // namespace

/// Returns the units in groups of `size` microbatches: forward, a group passes
/// the stages in ascending order, backward in descending order.
static Directions orderDirections(const std::set<PlanUnit> &units,
                                  ArrayRef<int64_t> stages, int64_t size) {
  std::set<int64_t> distinct;
  for (const PlanUnit &unit : units)
    distinct.insert(unit.microbatch);
  auto microbatches = llvm::to_vector(distinct);
  Directions directions;
  auto add = [&](int64_t stage, int64_t microbatch, bool backward) {
    PlanUnit unit = {stage, microbatch, backward};
    if (units.count(unit))
      (backward ? directions.backward : directions.forward).push_back(unit);
  };
  for (ArrayRef<int64_t> left = microbatches; !left.empty();) {
    ArrayRef<int64_t> group =
        left.take_front(std::min<size_t>(size, left.size()));
    left = left.drop_front(group.size());
    for (int64_t stage : stages)
      for (int64_t microbatch : group)
        add(stage, microbatch, /*backward=*/false);
    for (int64_t stage : llvm::reverse(stages))
      for (int64_t microbatch : group)
        add(stage, microbatch, /*backward=*/true);
  }
  return directions;
}

/// Returns the units of a rank in the order of 1F1B. A rank with several stages
/// interleaves them: of `n` ranks, rank `r` has the stages `r`, `r + n` and so
/// on.
static SmallVector<PlanUnit> orderUnits(const std::set<PlanUnit> &units,
                                        int64_t numStages) {
  std::set<int64_t> distinct;
  for (const PlanUnit &unit : units)
    distinct.insert(unit.stage);
  auto stages = llvm::to_vector(distinct);
  int64_t chunks = stages.size(), first = stages.front();
  int64_t ranks = llvm::divideCeil(numStages, chunks);
  auto [forward, backward] =
      orderDirections(units, stages, chunks == 1 ? 1 : ranks);
  // The number of forward units of the warm-up. One more forward unit precedes
  // the first backward unit.
  int64_t warmup = chunks == 1 ? ranks - 1 - first
                               : 2 * (ranks - 1 - first) + (chunks - 1) * ranks;
  size_t ahead = std::clamp<int64_t>(warmup, 0, forward.size());
  SmallVector<PlanUnit> order(forward.begin(), forward.begin() + ahead);
  for (size_t next = 0; order.size() < units.size(); ++next) {
    if (ahead + next < forward.size())
      order.push_back(forward[ahead + next]);
    if (next < backward.size())
      order.push_back(backward[next]);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Returns the rank, unit and priority of each task; nothing if no task has a
/// unit.
static FailureOr<SmallVector<UnitTask>> readTasks(ArrayRef<TaskOp> tasks,
                                                  unsigned &numUnits) {
  std::map<int64_t, std::set<PlanUnit>> unitsOf;
  SmallVector<std::optional<PlanUnit>> unitOf;
  int64_t numStages = 0;
  for (TaskOp task : tasks) {
    FailureOr<std::optional<PlanUnit>> unit = readPlanUnit(task);
    if (failed(unit))
      return failure();
    unitOf.push_back(*unit);
    if (!*unit)
      continue;
    unitsOf[getRank(task)].insert(**unit);
    numStages = std::max(numStages, (*unit)->stage + 1);
  }
  std::map<int64_t, std::map<PlanUnit, unsigned>> positions;
  for (auto &[rank, units] : unitsOf) {
    numUnits += units.size();
    for (auto [position, unit] : llvm::enumerate(orderUnits(units, numStages)))
      positions[rank][unit] = position;
  }
  SmallVector<UnitTask> result;
  for (auto [index, task] : llvm::enumerate(tasks)) {
    UnitTask &entry = result.emplace_back();
    // A task without a unit comes as early as it can.
    entry.priority = -double(tasks.size()) + index;
    if (!unitOf[index])
      continue;
    entry.rank = getRank(task);
    entry.unit = positions[entry.rank][*unitOf[index]];
    // Units with one position on several ranks come one after the other, so
    // that the order of the block resembles that of time.
    entry.priority = double(*entry.unit) * tasks.size() + index;
  }
  return result;
}

/// For each task, the tasks that must precede it: those whose results it reads,
/// and those that read a state before the task updates it.
static std::vector<SmallVector<unsigned>>
findPredecessors(ArrayRef<TaskOp> tasks) {
  llvm::DenseMap<Operation *, unsigned> indexOf;
  llvm::DenseMap<Value, SmallVector<unsigned>> readers;
  std::vector<SmallVector<unsigned>> predecessors;
  for (auto [index, op] : llvm::enumerate(tasks)) {
    TaskOp task = op;
    llvm::SmallSetVector<unsigned, 4> before;
    for (auto [out, value] : llvm::enumerate(task.getOuts()))
      if (task.isUpdated(out))
        before.insert_range(readers.lookup(getViewBase(value)));
    for (Value operand : task->getOperands()) {
      Value base = getViewBase(operand);
      if (auto producer = base.getDefiningOp<TaskOp>())
        before.insert(indexOf.at(producer));
      readers[base].push_back(index);
    }
    indexOf[task] = index;
    predecessors.push_back(before.takeVector());
  }
  return predecessors;
}

/// Moves the tasks into an order, each after the views that it reads. All other
/// ops follow.
static void reorder(Block &block, ArrayRef<TaskOp> tasks,
                    ArrayRef<unsigned> order) {
  Operation *end = block.getTerminator();
  llvm::SmallPtrSet<Operation *, 32> placed;
  auto place = [&](Operation *op, auto &self) -> void {
    if (!op || op->getBlock() != &block || !placed.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      self(operand.getDefiningOp(), self);
    op->moveBefore(end);
  };
  SmallVector<Operation *> others;
  for (Operation &op : block.without_terminator())
    if (!isa<TaskOp>(op))
      others.push_back(&op);
  for (unsigned index : order)
    place(tasks[index], place);
  for (Operation *op : others)
    place(op, place);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct OrderMicrobatchesPass
    : ark::impl::OrderMicrobatchesPassBase<OrderMicrobatchesPass> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    auto tasks = llvm::to_vector(block.getOps<TaskOp>());
    unsigned count = 0;
    FailureOr<SmallVector<UnitTask>> entries = readTasks(tasks, count);
    if (failed(entries))
      return signalPassFailure();
    if (count == 0)
      return;
    numUnits += count;
    reorder(block, tasks, orderByUnits(*entries, findPredecessors(tasks)));
  }
};
} // namespace
