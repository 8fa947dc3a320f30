//===- TaskOrder.cpp - Order tasks around updates in place ----------------===//

#include "passes/memory/bufferize/TaskOrder.h"

#include "passes/memory/bufferize/TensorLayout.h"
#include "llvm/ADT/SetVector.h"

#include <queue>

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Order constraints between tasks, by index in the block.
struct TaskGraph {
  SmallVector<TaskOp> tasks;
  SmallVector<llvm::SmallSetVector<unsigned, 4>> successors;
  /// Pairs of a reader of a value and the task that overwrites it.
  SmallVector<std::pair<unsigned, unsigned>> overwrites;
};
} // namespace

static TaskGraph buildGraph(ProgramOp program) {
  TaskGraph graph;
  llvm::DenseMap<Operation *, unsigned> indexOf;
  for (auto task : program.getBody().getOps<TaskOp>()) {
    indexOf[task] = graph.tasks.size();
    graph.tasks.push_back(task);
  }
  graph.successors.resize(graph.tasks.size());

  // Tensors are values: every version of a state is a separate value.
  llvm::DenseMap<Value, SmallVector<unsigned>> readers;
  for (auto [index, task] : llvm::enumerate(graph.tasks))
    for (Value operand : task.getOperands()) {
      Value version = skipViews(operand);
      readers[version].push_back(index);
      if (auto producer = version.getDefiningOp<TaskOp>())
        graph.successors[indexOf[producer]].insert(index);
    }
  for (auto [index, task] : llvm::enumerate(graph.tasks))
    for (OpResult result : task->getResults()) {
      OpOperand *updated = getUpdatedOperand(result);
      if (!updated)
        continue;
      for (unsigned reader : readers[skipViews(updated->get())])
        if (reader != index) {
          graph.successors[reader].insert(index);
          graph.overwrites.push_back({reader, static_cast<unsigned>(index)});
        }
    }
  return graph;
}

/// Runs Kahn's algorithm, with the earliest ready task of the block first. The
/// result is incomplete if the graph has a cycle.
static SmallVector<unsigned> sortGraph(const TaskGraph &graph) {
  SmallVector<unsigned> missing(graph.tasks.size());
  for (auto &successors : graph.successors)
    for (unsigned successor : successors)
      ++missing[successor];
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>>
      ready;
  for (auto [index, count] : llvm::enumerate(missing))
    if (count == 0)
      ready.push(index);
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned index = ready.top();
    ready.pop();
    order.push_back(index);
    for (unsigned successor : graph.successors[index])
      if (--missing[successor] == 0)
        ready.push(successor);
  }
  return order;
}

static bool reaches(const TaskGraph &graph, unsigned from, unsigned to) {
  llvm::SetVector<unsigned> seen;
  seen.insert(from);
  for (size_t next = 0; next < seen.size(); ++next)
    for (unsigned successor : graph.successors[seen[next]]) {
      if (successor == to)
        return true;
      seen.insert(successor);
    }
  return false;
}

/// Reports a cycle. Every cycle contains a task that overwrites a value before
/// a task that reads it, since all other edges follow the order of the block.
static void reportCycle(const TaskGraph &graph) {
  for (auto [reader, writer] : graph.overwrites) {
    if (!reaches(graph, writer, reader))
      continue;
    TaskOp task = graph.tasks[reader];
    InFlightDiagnostic diagnostic =
        task.emitError("needs a value that is updated in place before it can "
                       "run: read the result of the update, or copy the value");
    TaskOp overwriting = graph.tasks[writer];
    diagnostic.attachNote(overwriting.getLoc()) << "updated here";
    return;
  }
}

FailureOr<SmallVector<TaskOp>> mlir::ark::orderTasks(ProgramOp program) {
  TaskGraph graph = buildGraph(program);
  SmallVector<unsigned> order = sortGraph(graph);
  if (order.size() != graph.tasks.size()) {
    reportCycle(graph);
    return failure();
  }
  SmallVector<TaskOp> tasks;
  for (unsigned index : order)
    tasks.push_back(graph.tasks[index]);
  return tasks;
}
