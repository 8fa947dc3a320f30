//===- UnitOrder.cpp - Orders of tasks that keep units together -----------===//

#include "lib/analysis/UnitOrder.h"
#include "lib/support/PlanRank.h"
#include "lib/support/PlanUnit.h"

#include <limits>
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::ark;

/// The unit of tasks that have none: they never wait for a unit.
static constexpr unsigned kNoUnit = 0;

namespace {
/// The tasks of a rank whose predecessors are done.
struct RankQueue {
  /// By unit, then by priority. Tasks without a unit are in a queue of their
  /// own.
  std::set<std::tuple<unsigned, double, unsigned>> ready;
  /// The number of tasks of each unit that are not done.
  std::vector<unsigned> left;
  /// The first unit that is not done.
  unsigned current = 0;

  void finish(unsigned unit) {
    --left[unit];
    while (current < left.size() && left[current] == 0)
      ++current;
  }
};

class UnitQueue {
public:
  explicit UnitQueue(ArrayRef<UnitTask> tasks);

  void push(unsigned task);
  /// Removes and returns the next task.
  unsigned pop();

private:
  RankQueue &getQueue(const UnitTask &task) {
    return task.unit ? ranks[task.rank] : others;
  }

  ArrayRef<UnitTask> tasks;
  std::map<int64_t, RankQueue> ranks;
  RankQueue others;
};
} // namespace

UnitQueue::UnitQueue(ArrayRef<UnitTask> tasks) : tasks(tasks) {
  for (const UnitTask &task : tasks) {
    std::vector<unsigned> &left = getQueue(task).left;
    unsigned unit = task.unit.value_or(kNoUnit);
    left.resize(std::max<size_t>(left.size(), unit + 1));
    ++left[unit];
  }
}

void UnitQueue::push(unsigned task) {
  const UnitTask &entry = tasks[task];
  getQueue(entry).ready.insert(
      {entry.unit.value_or(kNoUnit), entry.priority, task});
}

unsigned UnitQueue::pop() {
  // If no other task is ready, a task of a later unit follows: an earlier unit
  // depends on it.
  using Key = std::tuple<bool, double, unsigned>;
  Key best = {true, std::numeric_limits<double>::infinity(), ~0u};
  auto consider = [&](const RankQueue &queue) {
    if (queue.ready.empty())
      return;
    auto [unit, priority, task] = *queue.ready.begin();
    best = std::min(best, Key(unit > queue.current, priority, task));
  };
  consider(others);
  for (auto &[rank, queue] : ranks)
    consider(queue);
  unsigned task = std::get<unsigned>(best);
  RankQueue &queue = getQueue(tasks[task]);
  queue.ready.erase(queue.ready.begin());
  queue.finish(tasks[task].unit.value_or(kNoUnit));
  return task;
}

SmallVector<unsigned>
ark::orderByUnits(ArrayRef<UnitTask> tasks,
                  ArrayRef<SmallVector<unsigned>> predecessors) {
  std::vector<SmallVector<unsigned>> successors(tasks.size());
  for (auto [task, before] : llvm::enumerate(predecessors))
    for (unsigned each : before)
      successors[each].push_back(task);
  UnitQueue queue(tasks);
  SmallVector<size_t> missing;
  for (auto [task, before] : llvm::enumerate(predecessors)) {
    missing.push_back(before.size());
    if (before.empty())
      queue.push(task);
  }
  SmallVector<unsigned> order;
  while (order.size() < tasks.size()) {
    order.push_back(queue.pop());
    for (unsigned next : successors[order.back()])
      if (--missing[next] == 0)
        queue.push(next);
  }
  return order;
}

FailureOr<SmallVector<std::optional<unsigned>>>
ark::numberUnits(ArrayRef<TaskOp> tasks) {
  SmallVector<std::optional<unsigned>> numbers;
  std::map<int64_t, std::map<PlanUnit, unsigned>> unitsOf;
  for (TaskOp task : tasks) {
    FailureOr<std::optional<PlanUnit>> unit = readPlanUnit(task);
    if (failed(unit))
      return failure();
    std::optional<unsigned> &number = numbers.emplace_back();
    if (!*unit)
      continue;
    auto &units = unitsOf[getRank(task)];
    number = units.try_emplace(**unit, units.size()).first->second;
  }
  return numbers;
}
