//===- OrderForMemory.cpp - Order tasks by the bytes that they hold -------===//

#include "lib/support/BufferView.h"
#include "passes/memory/placement/ArenaPlanner.h"
#include "passes/memory/placement/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

#include <set>

namespace mlir::ark {
#define GEN_PASS_DEF_ORDERFORMEMORYPASS
#include "passes/memory/placement/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Chooses the next one of the tasks that may run.
enum class Rule {
  /// The first task of the program that does not add bytes, else the first.
  FirstThatAddsNone,
  /// The task that adds the fewest bytes.
  FewestBytes,
};

/// Builds orders of the tasks of a program that keep all dependences.
class TaskOrders {
public:
  TaskOrders(const Liveness &liveness);

  /// Returns an order of all tasks. If `backward`, the order is built from the
  /// last task to the first one.
  SmallVector<unsigned> build(Rule rule, bool backward) const;

  /// Returns the largest number of bytes that are live at the same time.
  int64_t getLargestLiveSet(ArrayRef<unsigned> order) const;

private:
  using Edges = std::vector<SmallVector<unsigned>>;

  void addPacketOrder();
  void addEdge(unsigned before, unsigned after);

  const Liveness &liveness;
  Edges before, after;
  /// The intermediates that each task touches.
  Edges touched;
};
} // namespace

TaskOrders::TaskOrders(const Liveness &liveness)
    : liveness(liveness), before(liveness.getTasks().size()),
      after(before.size()), touched(before.size()) {
  for (unsigned task = 0; task < before.size(); ++task)
    for (unsigned each : liveness.getDirectPredecessors(task))
      addEdge(each, task);
  for (auto [index, intermediate] :
       llvm::enumerate(liveness.getIntermediates()))
    for (unsigned task : intermediate.tasks)
      touched[task].push_back(index);
  addPacketOrder();
}

void TaskOrders::addEdge(unsigned earlier, unsigned later) {
  after[earlier].push_back(later);
  before[later].push_back(earlier);
}

/// Keeps the order of the tasks that touch the same packets: liveness has no
/// dependence for packets.
void TaskOrders::addPacketOrder() {
  llvm::MapVector<Value, unsigned> last;
  for (auto [index, task] : llvm::enumerate(liveness.getTasks()))
    for (Value operand : TaskOp(task).getOperands()) {
      FailureOr<BufferView> view = resolveBufferView(operand);
      if (failed(view) || !isPackets(view->root))
        continue;
      auto [found, isFirst] = last.try_emplace(view->buffer, index);
      if (!isFirst && found->second != index)
        addEdge(found->second, index);
      found->second = index;
    }
}

SmallVector<unsigned> TaskOrders::build(Rule rule, bool backward) const {
  ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
  const Edges &previous = backward ? after : before;
  const Edges &next = backward ? before : after;
  SmallVector<unsigned> missing, untouched;
  for (const auto &edges : previous)
    missing.push_back(edges.size());
  for (const Intermediate &each : intermediates)
    untouched.push_back(each.tasks.size());

  // Returns the bytes of the intermediates that a task touches first, minus
  // the bytes of those that it touches last.
  auto getGrowth = [&](unsigned task) {
    int64_t growth = 0;
    for (unsigned each : touched[task]) {
      if (untouched[each] == intermediates[each].tasks.size())
        growth += intermediates[each].bytes;
      if (untouched[each] == 1)
        growth -= intermediates[each].bytes;
    }
    return growth;
  };
  // Keys ascend in the direction of construction: the front is the first ready
  // task of the program, or the last one if the order is built backward.
  std::set<unsigned> ready;
  auto getKey = [&](unsigned task) -> unsigned {
    return backward ? previous.size() - 1 - task : task;
  };
  auto choose = [&] {
    unsigned best = *ready.begin();
    int64_t least = std::numeric_limits<int64_t>::max();
    for (unsigned key : ready) {
      int64_t growth = getGrowth(getKey(key));
      if (rule == Rule::FirstThatAddsNone && growth <= 0)
        return key;
      if (rule == Rule::FewestBytes && growth < least) {
        best = key;
        least = growth;
      }
    }
    return best;
  };
  for (unsigned task = 0; task < missing.size(); ++task)
    if (missing[task] == 0)
      ready.insert(getKey(task));
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned key = choose();
    unsigned task = getKey(key);
    ready.erase(key);
    order.push_back(task);
    for (unsigned each : touched[task])
      --untouched[each];
    for (unsigned each : next[task])
      if (--missing[each] == 0)
        ready.insert(getKey(each));
  }
  if (backward)
    std::reverse(order.begin(), order.end());
  return order;
}

int64_t TaskOrders::getLargestLiveSet(ArrayRef<unsigned> order) const {
  ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
  SmallVector<unsigned> seen(intermediates.size());
  int64_t live = 0, largest = 0;
  for (unsigned task : order) {
    for (unsigned each : touched[task])
      if (seen[each]++ == 0)
        live += intermediates[each].bytes;
    largest = std::max(largest, live);
    for (unsigned each : touched[task])
      if (seen[each] == intermediates[each].tasks.size())
        live -= intermediates[each].bytes;
  }
  return largest;
}

/// Returns the order with the smallest live set among those that differ from
/// the program's, if that set is smaller than the program's.
static std::optional<SmallVector<unsigned>>
findSmallerOrder(const Liveness &liveness) {
  TaskOrders orders(liveness);
  std::optional<SmallVector<unsigned>> best;
  int64_t least = liveness.getLargestLiveSet();
  for (Rule rule : {Rule::FirstThatAddsNone, Rule::FewestBytes})
    for (bool backward : {false, true}) {
      SmallVector<unsigned> order = orders.build(rule, backward);
      int64_t bytes = orders.getLargestLiveSet(order);
      if (bytes >= least)
        continue;
      least = bytes;
      best = std::move(order);
    }
  return best;
}

/// Moves the tasks to the end of the block, in a given order. All other ops
/// precede them, since no op between tasks reads what a task computes.
static void reorder(ProgramOp program, ArrayRef<TaskOp> tasks,
                    ArrayRef<unsigned> order) {
  Operation *end = program.getBody().front().getTerminator();
  for (unsigned index : order)
    TaskOp(tasks[index])->moveBefore(end);
}

namespace {
struct OrderForMemoryPass
    : public ark::impl::OrderForMemoryPassBase<OrderForMemoryPass> {
  using OrderForMemoryPassBase::OrderForMemoryPassBase;

  void runOnOperation() override;
};
} // namespace

void OrderForMemoryPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (limit <= 0 || program.getBody().getOps<memref::AllocOp>().empty())
    return;
  FailureOr<Liveness> liveness = Liveness::compute(program);
  if (failed(liveness))
    return signalPassFailure();
  ArenaPlanner planner(*liveness, program);
  if (planner.planByData().partBytes <= limit)
    return;
  int64_t bytes = planner.planByProgram().partBytes;
  if (bytes <= limit)
    return;
  std::optional<SmallVector<unsigned>> order = findSmallerOrder(*liveness);
  if (!order)
    return;
  SmallVector<TaskOp> tasks(liveness->getTasks());
  reorder(program, tasks, *order);
  FailureOr<Liveness> ordered = Liveness::compute(program);
  if (failed(ordered))
    return signalPassFailure();
  int64_t smaller = ArenaPlanner(*ordered, program).planByProgram().partBytes;
  if (smaller >= bytes) {
    reorder(program, tasks,
            llvm::to_vector(llvm::seq<unsigned>(0, tasks.size())));
    return;
  }
  ++numOrdered;
  savedBytes += bytes - smaller;
}
