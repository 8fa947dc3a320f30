//===- FusionLegality.cpp - Conditions on the fusion of two tasks ---------===//

#include "passes/tiling/fusion/FusionLegality.h"

#include "lib/analysis/Packets.h"
#include "lib/analysis/Regions.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/PlanRank.h"
#include "lib/support/QuantizedProducts.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::ark;

TaskOp ark::getProducer(Value value) {
  return getViewBase(value).getDefiningOp<TaskOp>();
}

namespace {
/// The tensors that ops read, possibly through views. An op may also be a view,
/// whose readers follow later.
class ReadTensors {
public:
  void add(Operation *reader) {
    for (Value operand : reader->getOperands())
      bases.insert(getViewBase(operand));
  }
  /// Returns true if an op reads the old value of a state that `writer`
  /// updates.
  bool areUpdatedBy(TaskOp writer) const {
    for (unsigned index = 0; index < writer.getOuts().size(); ++index)
      if (writer.isUpdated(index) &&
          bases.contains(getViewBase(writer.getOuts()[index])))
        return true;
    return false;
  }

private:
  llvm::SmallDenseSet<Value, 8> bases;
};
} // namespace

/// Returns true if `reader` reads the old value of a state that `writer`
/// updates.
static bool readsStateBeforeUpdate(TaskOp writer, Operation *reader) {
  ReadTensors read;
  read.add(reader);
  return read.areUpdatedBy(writer);
}

//===----------------------------------------------------------------------===//
// Conditions on a pair of tasks
//===----------------------------------------------------------------------===//

bool ark::readsCorrespondingVcta(TaskOp first, TaskOp second, MergeKind kind) {
  for (auto [index, input] : llvm::enumerate(second.getInputs())) {
    if (getProducer(input) != first)
      continue;
    // Through a view, the tiles of both tasks do not correspond.
    auto result = dyn_cast<OpResult>(input);
    if (!result || result.getOwner() != first)
      return false;
    unsigned out = result.getResultNumber();
    unsigned operand = first.getInputs().size() + out;
    // Several vCTAs may update the same elements of a state.
    if (!getOffsetsInPart(first, out, second, index, kind) ||
        !isDisjoint(first.getRegion(operand), first.getGrid()))
      return false;
  }
  // An update of an update would have two writers of one state.
  return llvm::none_of(second.getOuts(),
                       [&](Value out) { return getProducer(out) == first; });
}

bool ark::readsResultOf(TaskOp second, TaskOp first) {
  return llvm::any_of(second.getInputs(),
                      [&](Value input) { return getProducer(input) == first; });
}

/// Returns true if a task of another rank than `rank` reads `value`, possibly
/// with another shape.
static bool isReadByAnotherRank(Value value, Attribute rank) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto task = dyn_cast<TaskOp>(user))
      return getRankAttr(task) != rank;
    return isa<ReshapeOp>(user) &&
           isReadByAnotherRank(user->getResult(0), rank);
  });
}

/// Returns true if another rank waits for a result of `task`.
static bool feedsAnotherRank(TaskOp task) {
  Attribute rank = getRankAttr(task);
  return rank && llvm::any_of(task->getResults(), [&](Value result) {
           return isReadByAnotherRank(result, rank);
         });
}

/// Returns true if `task` waits for a tensor of another rank that `other` does
/// not wait for.
static bool waitsForAnotherRank(TaskOp task, TaskOp other) {
  return llvm::any_of(task.getInputs(), [&](Value input) {
    TaskOp producer = getProducer(input);
    return producer && getRankAttr(producer) != getRankAttr(task) &&
           !llvm::is_contained(other.getInputs(), input);
  });
}

bool ark::delaysPut(TaskOp first, TaskOp second) {
  bool depends = readsResultOf(second, first);
  if (!depends && feedsAnotherRank(first) != feedsAnotherRank(second))
    return true;
  return (feedsAnotherRank(first) && waitsForAnotherRank(second, first)) ||
         (feedsAnotherRank(second) && !depends &&
          waitsForAnotherRank(first, second));
}

bool ark::isPut(TaskOp task) {
  return feedsAnotherRank(task) &&
         llvm::all_of(task.getBody().front().without_terminator(),
                      llvm::IsaPred<linalg::CopyOp>);
}

bool ark::isContraction(Operation *op) {
  if (auto bodyOp = dyn_cast<BodyOpInterface>(op))
    return bodyOp.multipliesMatrices();
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured &&
         (isa<linalg::ContractOp>(op) || matchQuantizedProduct(op) ||
          linalg::isaContractionOpInterface(structured));
}

bool ark::chainContractions(TaskOp first, TaskOp second) {
  if (llvm::none_of(first.getBody().getOps(),
                    [](Operation &op) { return isContraction(&op); }))
    return false;
  SetVector<Operation *> slice;
  for (auto [index, input] : llvm::enumerate(second.getInputs()))
    if (getProducer(input) == first)
      getForwardSlice(Value(second.getInputTiles()[index]), &slice);
  return llvm::any_of(slice, isContraction);
}

bool ark::isOnlyReader(TaskOp second, TaskOp first) {
  return llvm::all_of(first->getUsers(),
                      [&](Operation *user) { return user == second; });
}

/// Returns true if all readers of a result of `op`, possibly through views,
/// are `second` or depend on it.
static bool haveReadersAfter(Operation *op, TaskOp second) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (isa<ViewOpInterface>(user))
      return haveReadersAfter(user, second);
    return user == second ||
           (second->isBeforeInBlock(user) && dependsOn(user, second));
  });
}

bool ark::isFirstReader(TaskOp second, TaskOp first) {
  return haveReadersAfter(first, second);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

using OpSet = llvm::SmallPtrSet<Operation *, 8>;

/// Returns the ops before `second` that depend on `first`. Returns nothing if
/// `second` depends on one of them. Follows users, since the block may have
/// many thousand ops between the tasks, and few of them depend on `first`.
static std::optional<OpSet> findDependents(TaskOp first, TaskOp second) {
  OpSet found;
  SmallVector<Operation *> open = {first};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (user == second) {
        if (op != first)
          return std::nullopt;
        continue;
      }
      if (user->getBlock() == second->getBlock() &&
          user->isBeforeInBlock(second) && found.insert(user).second)
        open.push_back(user);
    }
  }
  return found;
}

std::optional<SmallVector<Operation *>> ark::getFollowers(TaskOp first,
                                                          TaskOp second) {
  std::optional<OpSet> dependents = findDependents(first, second);
  if (!dependents)
    return std::nullopt;
  SmallVector<Operation *> followers;
  ReadTensors read, readByFollowers;
  read.add(first);
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode()) {
    if (!dependents->empty() && dependents->contains(op)) {
      followers.push_back(op);
      read.add(op);
      readByFollowers.add(op);
      continue;
    }
    auto task = dyn_cast<TaskOp>(op);
    if (task && task.getInPlace() && read.areUpdatedBy(task))
      return std::nullopt;
  }
  if (readByFollowers.areUpdatedBy(second))
    return std::nullopt;
  return followers;
}

/// Returns true if `reader` reads old values of the states that `writer`
/// updates only at the elements that the vCTA of `writer` with the same number
/// updates, and not through a view.
static bool readsOnlyOwnElements(TaskOp reader, TaskOp writer) {
  for (unsigned out = 0; out < writer.getOuts().size(); ++out) {
    if (!writer.isUpdated(out))
      continue;
    Value state = writer.getOuts()[out];
    unsigned written = writer.getInputs().size() + out;
    for (unsigned read = 0; read < reader->getNumOperands(); ++read) {
      Value operand = reader->getOperand(read);
      if (getViewBase(operand) != getViewBase(state))
        continue;
      if (operand != state ||
          reader.getRegion(read) != writer.getRegion(written) ||
          !isDisjoint(writer.getRegion(written), writer.getGrid()))
        return false;
    }
  }
  return true;
}

bool ark::mixVersions(TaskOp first, TaskOp second, MergeKind kind) {
  if (readsStateBeforeUpdate(first, second))
    return true;
  return readsStateBeforeUpdate(second, first) &&
         (kind != MergeKind::Pairwise || !readsOnlyOwnElements(first, second));
}
