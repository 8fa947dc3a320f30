//===- SiblingTasks.cpp - Tasks that read the same region -----------------===//

#include "passes/tiling/fusion/SiblingTasks.h"

#include "lib/support/GraphUtils.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <limits>
#include <queue>

using namespace mlir;
using namespace mlir::ark;

/// Marks a task whose chain has not been computed yet.
static constexpr unsigned kUnknown = std::numeric_limits<unsigned>::max();

SmallVector<SiblingTasks::Key> SiblingTasks::getKeys(TaskOp task) {
  llvm::SmallSetVector<Key, 8> keys;
  for (auto [index, input] : llvm::enumerate(task.getInputs()))
    keys.insert({input, task.getRegion(index), task.getGridAttr(),
                 task.getWarpsAttr(), task.getPlanAttr()});
  return keys.takeVector();
}

SiblingTasks::SiblingTasks(Block &block,
                           llvm::function_ref<bool(TaskOp)> isCandidate,
                           GetLoad getLoad) {
  llvm::DenseMap<Key, SmallVector<unsigned, 1>> readers;
  for (TaskOp task : block.getOps<TaskOp>()) {
    unsigned position = tasks.size();
    tasks.push_back(task);
    positions[task] = position;
    if (isCandidate(task))
      for (const Key &key : getKeys(task))
        readers[key].push_back(position);
  }
  // Computing a load takes time, and most tasks share no input.
  for (auto &[key, list] : readers)
    if (list.size() > 1)
      for (unsigned position : list)
        siblings[key][getLoad(tasks[position])][position] = kUnknown;
}

void SiblingTasks::remove(TaskOp task) {
  auto it = positions.find(task);
  if (it == positions.end())
    return;
  unsigned position = it->second;
  positions.erase(it);
  tasks[position] = nullptr;
  for (const Key &key : getKeys(task))
    if (auto found = siblings.find(key); found != siblings.end())
      for (auto &[load, list] : found->second)
        list.erase(position);
}

/// A stored result stays valid if a task is removed: the remaining tasks of a
/// chain still depend on each other.
unsigned SiblingTasks::getChainBegin(Positions &list, Positions::iterator it) {
  SmallVector<Positions::iterator> chain;
  unsigned begin = it->second;
  while (begin == kUnknown) {
    chain.push_back(it);
    if (it == list.begin() ||
        !dependsOn(tasks[it->first], tasks[std::prev(it)->first]))
      begin = it->first;
    else
      begin = (--it)->second;
  }
  for (Positions::iterator member : chain)
    member->second = begin;
  return begin;
}

std::optional<SiblingTasks::Cursor>
SiblingTasks::getPrevious(Positions &list, unsigned position) {
  auto it = list.lower_bound(position);
  if (it == list.begin())
    return std::nullopt;
  return Cursor{std::prev(it)->first, &list};
}

bool SiblingTasks::visit(TaskOp second, ArrayRef<TaskOp> producers,
                         llvm::function_ref<bool(const TaskLoad &)> isAccepted,
                         llvm::function_ref<bool(TaskOp)> fuse) {
  std::priority_queue<Cursor> nearest;
  for (TaskOp producer : producers)
    nearest.push({positions.lookup(producer), nullptr});
  for (const Key &key : getKeys(second))
    if (auto found = siblings.find(key); found != siblings.end())
      for (auto &[load, list] : found->second)
        if (!list.empty() && isAccepted(load))
          nearest.push({list.rbegin()->first, &list});

  while (!nearest.empty()) {
    unsigned position = nearest.top().position;
    TaskOp first = tasks[position];
    if (fuse(first))
      return true;
    std::optional<bool> depends;
    while (!nearest.empty() && nearest.top().position == position) {
      Positions *list = nearest.top().list;
      nearest.pop();
      if (!list || list->begin()->first == position)
        continue;
      if (!depends)
        depends = dependsOn(second, first);
      unsigned end =
          *depends ? getChainBegin(*list, list->find(position)) : position;
      if (std::optional<Cursor> next = getPrevious(*list, end))
        nearest.push(*next);
    }
  }
  return false;
}
