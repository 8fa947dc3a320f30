//===- PlacementOrder.cpp - Order in which tasks get lanes ----------------===//

#include "passes/scheduling/PlacementOrder.h"
#include "lib/analysis/UnitOrder.h"
#include "lib/support/PlanRank.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the longest path from each task to the end, which is longer for a
/// producer than for its consumers.
static std::vector<double> findLongestPaths(const SchedulerInput &input) {
  size_t count = input.dependences.getTasks().size();
  std::vector<double> paths(count, 0);
  double handoff = input.costs.getHandoffNs(1);
  for (unsigned task = count; task-- > 0;) {
    const Placement::Pin &pin = input.placement.pins[task];
    double sms = pin.sms.second - pin.sms.first;
    double vctas = input.dependences.getTask(task).getNumVCTAs();
    double span = input.costs.getTaskNs(task) / std::min(sms, vctas);
    // Consumers come later in the program, so `paths[task]` already includes
    // them.
    paths[task] += span + handoff;
    for (const Dependence &dependence : input.dependences.getIncoming(task))
      if (dependence.producer != task)
        paths[dependence.producer] =
            std::max(paths[dependence.producer], paths[task]);
  }
  return paths;
}

/// Orders tasks by their paths, where no earlier unit is unfinished.
static SmallVector<unsigned> orderPipeline(const SchedulerInput &input,
                                           ArrayRef<double> paths) {
  SmallVector<UnitTask> tasks;
  std::vector<SmallVector<unsigned>> predecessors;
  for (auto [task, pin] : llvm::enumerate(input.placement.pins)) {
    tasks.push_back({getRank(TaskOp(input.dependences.getTask(task))), pin.unit,
                     -paths[task]});
    SmallVector<unsigned> &before = predecessors.emplace_back();
    for (const Dependence &dependence : input.dependences.getIncoming(task))
      if (dependence.producer != task)
        before.push_back(dependence.producer);
  }
  return orderByUnits(tasks, predecessors);
}

SmallVector<unsigned> ark::orderForPlacement(const SchedulerInput &input) {
  std::vector<double> paths = findLongestPaths(input);
  auto hasUnit = [](const Placement::Pin &pin) { return pin.unit.has_value(); };
  if (llvm::any_of(input.placement.pins, hasUnit))
    return orderPipeline(input, paths);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, paths.size()));
  llvm::stable_sort(
      order, [&](unsigned a, unsigned b) { return paths[a] > paths[b]; });
  return order;
}
