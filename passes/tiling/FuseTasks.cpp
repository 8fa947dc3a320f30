//===- FuseTasks.cpp - Tasks whose vCTAs go together become one -----------===//

#include "lib/analysis/BodyCost.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/Packets.h"
#include "lib/analysis/Regions.h"
#include "lib/support/BufferView.h"
#include "lib/support/DimIndices.h"
#include "passes/tiling/MergeTasks.h"
#include "passes/tiling/Passes.h"
#include "passes/tiling/TileShape.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FUSETASKSPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// The part of an SM's memory that results which stay inside may take; those
/// that are repeated may take that of rows.
static constexpr int64_t kMemoryShare = 8;

/// Temporaries that take this part of an SM's memory are large. Of the same
/// memory, what small ones and the kernel's tables may need.
static constexpr int64_t kLargeShare = 4, kReservedShare = 4;

static Value getViewBase(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view.getViewSource();
  return value;
}

static TaskOp getProducer(Value value) {
  return getViewBase(value).getDefiningOp<TaskOp>();
}

/// Whether a task reads a state that `writer` updates as it was before. A view
/// counts as well: whoever reads it comes even later.
static bool readsWhatIsUpdatedBy(TaskOp writer, Operation *reader) {
  for (unsigned index = 0; index < writer.getOuts().size(); ++index) {
    Value base = getViewBase(writer.getOuts()[index]);
    if (writer.isUpdated(index) &&
        llvm::any_of(reader->getOperands(), [&](Value operand) {
          return getViewBase(operand) == base;
        }))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// What one task needs of another
//===----------------------------------------------------------------------===//

/// Whether every vCTA of `second` reads of `first` what its partner makes, or
/// parts of it: the halves of a row, say.
static bool readsOwnParts(TaskOp first, TaskOp second, MergeKind kind) {
  for (auto [index, input] : llvm::enumerate(second.getInputs())) {
    if (getProducer(input) != first)
      continue;
    // A view names the elements by other indices.
    auto result = dyn_cast<OpResult>(input);
    if (!result || result.getOwner() != first)
      return false;
    unsigned out = result.getResultNumber();
    unsigned operand = first.getInputs().size() + out;
    // vCTAs that update one state may name the same part of it.
    if (!getPlaceInPart(first, out, second, index, kind) ||
        !isDisjoint(first.getRegion(operand), first.getGrid()))
      return false;
  }
  // An update of an update has two writers of one state.
  return llvm::none_of(second.getOuts(),
                       [&](Value out) { return getProducer(out) == first; });
}

static bool readsResultOf(TaskOp second, TaskOp first) {
  return llvm::any_of(second.getInputs(),
                      [&](Value input) { return getProducer(input) == first; });
}

/// Whether both read the same part of a tensor.
static bool shareInput(TaskOp first, TaskOp second) {
  for (auto [i, a] : llvm::enumerate(first.getInputs()))
    for (auto [j, b] : llvm::enumerate(second.getInputs()))
      if (a == b && first.getRegion(i) == second.getRegion(j))
        return true;
  return false;
}

static bool isContraction(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && (isa<linalg::ContractOp>(op) ||
                        linalg::isaContractionOpInterface(structured));
}

/// Whether a contraction of `second` goes over what a contraction of `first`
/// made. A program is a chain of these: to follow it would make one task of all
/// layers, with a body that grows with their number.
static bool chainContractions(TaskOp first, TaskOp second) {
  if (llvm::none_of(first.getBody().getOps(),
                    [](Operation &op) { return isContraction(&op); }))
    return false;
  SetVector<Operation *> slice;
  for (auto [index, input] : llvm::enumerate(second.getInputs()))
    if (getProducer(input) == first)
      getForwardSlice(Value(second.getInputTiles()[index]), &slice);
  return llvm::any_of(slice, isContraction);
}

static bool isOnlyReader(TaskOp second, TaskOp first) {
  return llvm::all_of(first->getUsers(),
                      [&](Operation *user) { return user == second; });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The ops between two tasks that need the first, in order; nothing where the
/// second needs one of them, or where moving the first task down to the second,
/// and these ops behind it, changes which version of a state somebody reads.
static std::optional<SmallVector<Operation *>> getFollowers(TaskOp first,
                                                            TaskOp second) {
  SmallVector<Operation *> followers;
  llvm::SmallPtrSet<Operation *, 8> needFirst = {first};
  auto needs = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return needFirst.contains(operand.getDefiningOp());
    });
  };
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode()) {
    if (needs(op)) {
      followers.push_back(op);
      needFirst.insert(op);
      continue;
    }
    auto task = dyn_cast<TaskOp>(op);
    if (task && (readsWhatIsUpdatedBy(task, first) ||
                 llvm::any_of(followers, [&](Operation *follower) {
                   return readsWhatIsUpdatedBy(task, follower);
                 })))
      return std::nullopt;
  }
  needFirst.erase(first);
  if (needs(second))
    return std::nullopt;
  for (Operation *follower : followers)
    if (readsWhatIsUpdatedBy(second, follower))
      return std::nullopt;
  return followers;
}

/// Whether one of two tasks updates what the other one reads as it was before:
/// in one task, a vCTA could meet what another one has written.
static bool mixVersions(TaskOp first, TaskOp second) {
  return readsWhatIsUpdatedBy(first, second) ||
         readsWhatIsUpdatedBy(second, first);
}

//===----------------------------------------------------------------------===//
// What it is worth
//===----------------------------------------------------------------------===//

namespace {
class TaskFuser {
public:
  TaskFuser(ProgramOp program, RewriterBase &rewriter, TargetAttr target,
            int64_t maxOps)
      : program(program), rewriter(rewriter), target(target), maxOps(maxOps) {}

  /// Returns the number of tasks that are no more.
  int64_t run();

private:
  double getVCTANs(TaskOp task, int64_t count);
  double getRepeatingNs(TaskOp first, int64_t count);
  bool waitsForOthers(TaskOp first, TaskOp second);
  bool isWorth(TaskOp first, TaskOp second, MergeKind kind);
  bool fitTogether(TaskOp first, TaskOp second);
  bool fuse(TaskOp first, TaskOp &second, MergeKind kind);
  bool fuseIntoAny(TaskOp &second, MergeKind kind);
  SmallVector<TaskOp> getPartners(TaskOp second);

  ProgramOp program;
  RewriterBase &rewriter;
  TargetAttr target;
  int64_t maxOps;
};
} // namespace

/// Of one vCTA, when `count` of them share the memory. A state that is updated
/// costs what is written of it: no more than is read.
double TaskFuser::getVCTANs(TaskOp task, int64_t count) {
  double bytes = 0;
  for (unsigned operand = 0; operand < task.getNumOperands(); ++operand) {
    int64_t inputs = task.getInputs().size();
    if (operand < inputs || !task.isUpdated(operand - inputs))
      bytes += countTouchedBytes(task, operand);
  }
  return predictVCTANs(target, count, bytes, countBodyFlops(task));
}

/// What was handed over takes memory of the vCTA instead, but for states.
static int64_t getTemporaryBytes(TaskOp first) {
  int64_t bytes = 0;
  for (unsigned out = 0; out < first.getOuts().size(); ++out)
    if (!first.isUpdated(out))
      bytes += countTouchedBytes(first, first.getInputs().size() + out);
  return bytes;
}

/// Whether `second` waits for other tasks than `first` does, which could be
/// done at the same time as `first`.
bool TaskFuser::waitsForOthers(TaskOp first, TaskOp second) {
  return llvm::any_of(second.getInputs(), [&](Value input) {
    TaskOp producer = getProducer(input);
    return producer && producer != first && !readsResultOf(first, producer);
  });
}

/// What it takes longer to have `count` vCTAs do the work of `first` each.
double TaskFuser::getRepeatingNs(TaskOp first, int64_t count) {
  int64_t sms = target.getSms(), before = first.getNumVCTAs();
  // An only vCTA is repeated by SMs that would wait for it. On a GPU,
  // ark-hoist-invariants has it done once for all vCTAs of a run.
  if (before == 1)
    return target.isGpu()
               ? 0
               : (llvm::divideCeil(count, sms) - 1) * getVCTANs(first, before);
  return llvm::divideCeil(count, sms) * getVCTANs(first, count) -
         llvm::divideCeil(before, sms) * getVCTANs(first, before);
}

/// Bytes of what a vCTA computes and keeps, as far as it is large: the scores
/// of an attention, the sums of a tile of a product.
static int64_t countLargeTemporaries(TaskOp task, int64_t memory) {
  int64_t sum = 0;
  task.getBody().walk([&](tensor::EmptyOp empty) {
    int64_t bytes = getElementBytes(empty.getType().getElementType());
    for (int64_t dim = 0; dim < empty.getType().getRank(); ++dim) {
      FailureOr<int64_t> extent =
          ValueBoundsConstraintSet::computeConstantBound(
              presburger::BoundType::UB, {empty.getResult(), dim},
              /*stopCondition=*/nullptr, /*closedUB=*/true);
      // What has no bound is refused when it is to have memory.
      bytes *= succeeded(extent) ? *extent : 1;
    }
    if (bytes * kLargeShare >= memory)
      sum += bytes;
  });
  return sum;
}

/// Whether an SM has room for what both compute: nothing is known here of when
/// one of them needs it no more.
bool TaskFuser::fitTogether(TaskOp first, TaskOp second) {
  int64_t memory = target.getSharedMemory();
  return !target.isGpu() || countLargeTemporaries(first, memory) +
                                    countLargeTemporaries(second, memory) <=
                                memory - memory / kReservedShare;
}

bool TaskFuser::isWorth(TaskOp first, TaskOp second, MergeKind kind) {
  int64_t sms = target.getSms(), count = second.getNumVCTAs();
  double saved = predictHandoffNs(target, std::min(count, sms));
  double firstNs = getVCTANs(first, first.getNumVCTAs());
  if (!readsResultOf(second, first))
    // Side by side, two small tasks take as long as the longer one.
    return 2 * count > sms ||
           std::min(firstNs, getVCTANs(second, count)) <= saved;
  int64_t share = kind == MergeKind::Repeated ? kRowsShare : kMemoryShare;
  if (!isOnlyReader(second, first) ||
      getTemporaryBytes(first) * share > target.getSharedMemory() ||
      (waitsForOthers(first, second) && firstNs > saved))
    return false;
  return kind == MergeKind::Pairwise || getRepeatingNs(first, count) <= saved;
}

static int64_t countBodyOps(TaskOp task) {
  return llvm::range_size(task.getBody().front().getOps<linalg::LinalgOp>());
}

bool TaskFuser::fuse(TaskOp first, TaskOp &second, MergeKind kind) {
  // Another rank waits for packets: they leave as soon as they can, and alone.
  if (putsPackets(first) || putsPackets(second))
    return false;
  if (kind == MergeKind::Pairwise
          ? first.getGrid() != second.getGrid()
          : !isRepeatable(first, second) || first.getInPlace())
    return false;
  if (first.getWarps() != second.getWarps() ||
      first.getPlanAttr() != second.getPlanAttr() ||
      countBodyOps(first) + countBodyOps(second) > maxOps ||
      !readsOwnParts(first, second, kind) || mixVersions(first, second) ||
      chainContractions(first, second) || !isWorth(first, second, kind) ||
      !fitTogether(first, second))
    return false;
  std::optional<SmallVector<Operation *>> followers =
      getFollowers(first, second);
  if (!followers)
    return false;
  Operation *last = second;
  for (Operation *follower : *followers) {
    rewriter.moveOpAfter(follower, last);
    last = follower;
  }
  second = mergeTasks(rewriter, first, second, kind);
  return true;
}

/// Earlier tasks that make what `second` reads, or read what it reads.
SmallVector<TaskOp> TaskFuser::getPartners(TaskOp second) {
  llvm::SmallSetVector<TaskOp, 8> partners;
  for (Value input : second.getInputs())
    if (auto producer = input.getDefiningOp<TaskOp>())
      partners.insert(producer);
  for (Value input : second.getInputs())
    for (Operation *user : input.getUsers())
      if (auto reader = dyn_cast<TaskOp>(user);
          reader && reader != second && reader->isBeforeInBlock(second) &&
          shareInput(reader, second))
        partners.insert(reader);
  // The nearest first, so that names and bodies keep the order of the program.
  SmallVector<TaskOp> sorted = partners.takeVector();
  llvm::sort(sorted, [](TaskOp a, TaskOp b) { return b->isBeforeInBlock(a); });
  return sorted;
}

bool TaskFuser::fuseIntoAny(TaskOp &second, MergeKind kind) {
  for (TaskOp first : getPartners(second)) {
    if (kind == MergeKind::Repeated && !readsResultOf(second, first))
      continue;
    if (fuse(first, second, kind))
      return true;
  }
  return false;
}

int64_t TaskFuser::run() {
  int64_t fused = 0;
  // What is repeated comes last: then there are the fewest to repeat it.
  for (MergeKind kind : {MergeKind::Pairwise, MergeKind::Repeated}) {
    for (int64_t before = -1; before != fused;) {
      before = fused;
      // Later tasks first: those that they swallow lie before them.
      Operation *op = &program.getBody().front().back();
      for (; op; op = op->getPrevNode()) {
        auto task = dyn_cast<TaskOp>(op);
        if (!task)
          continue;
        while (fuseIntoAny(task, kind))
          ++fused;
        op = task;
      }
    }
  }
  return fused;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseTasksPass : ark::impl::FuseTasksPassBase<FuseTasksPass> {
  using FuseTasksPassBase::FuseTasksPassBase;

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    ProgramOp program = getOperation();
    TargetAttr target = findTarget(program);
    if (!target) {
      program.emitError("the module has no '")
          << ArkDialect::kTargetAttr << "' to tell what fusing tasks is worth";
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    numFused += TaskFuser(program, rewriter, target, maxOps).run();
  }
};
} // namespace
