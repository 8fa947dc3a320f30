//===- FuseTasks.cpp - Fuse tasks whose vCTAs correspond ------------------===//

#include "dialects/ark/ArkDomains.h"
#include "lib/analysis/BodyCost.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/Packets.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/analysis/Regions.h"
#include "lib/support/BufferView.h"
#include "lib/support/DimIndices.h"
#include "lib/support/PlanRank.h"
#include "passes/tiling/fusion/FusionLegality.h"
#include "passes/tiling/fusion/JoinElementwise.h"
#include "passes/tiling/fusion/MergeTasks.h"
#include "passes/tiling/fusion/Passes.h"
#include "passes/tiling/fusion/SharedProductLoop.h"
#include "passes/tiling/fusion/SiblingTasks.h"
#include "passes/tiling/selection/TileShape.h"

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
#include "passes/tiling/fusion/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Results that stay inside of a vCTA may take 1/kMemoryShare of an SM's
/// memory; results that several vCTAs recompute may take 1/kRowsShare.
static constexpr int64_t kMemoryShare = 8;

/// A temporary is large from 1/kLargeShare of an SM's memory on.
/// 1/kReservedShare of the memory is reserved for small temporaries and the
/// kernel's tables.
static constexpr int64_t kLargeShare = 4, kReservedShare = 4;

/// Maximum number of tiles of an elementwise task whose results stay in
/// registers. Its readers have further tiles.
static constexpr int64_t kMaxFirstTiles = kMaxJoinedTiles - 2;

/// Maximum number of slices that a fused body inserts into tensors. The body of
/// a concatenation inserts all its operands, and the time of bufferization
/// grows with the fourth power of their number.
static constexpr int64_t kMaxInsertions = 32;

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

namespace {
class TaskFuser {
public:
  TaskFuser(ProgramOp program, RewriterBase &rewriter, TargetAttr target,
            int64_t maxOps)
      : program(program), rewriter(rewriter), target(target), maxOps(maxOps) {}

  /// Fuses tasks. Returns the number of tasks removed.
  int64_t run();

private:
  double getVCTANs(TaskOp task, int64_t count);
  double getRepeatingNs(TaskOp first, int64_t count);
  bool waitsForOthers(TaskOp first, TaskOp second);
  const TaskLoad &getLoad(TaskOp task);
  bool isPairwiseWorthwhile(const TaskLoad &first, const TaskLoad &second,
                            int64_t count);
  bool shouldStaySeparate(TaskOp first, TaskOp second);
  bool isWorth(TaskOp first, TaskOp second, MergeKind kind);
  bool fitTogether(const TaskLoad &first, const TaskLoad &second);
  bool fuse(TaskOp first, TaskOp &second, MergeKind kind,
            SiblingTasks *siblings);
  bool fusePairwise(TaskOp &second, SiblingTasks &siblings);
  bool fuseElementwiseProducer(TaskOp &second, SiblingTasks &siblings);
  bool fuseProducer(TaskOp &second);
  int64_t sweepPairwise();
  int64_t sweepRepeated();

  ProgramOp program;
  RewriterBase &rewriter;
  TargetAttr target;
  int64_t maxOps;
  llvm::DenseMap<Operation *, TaskLoad> loads;
};
} // namespace

/// Predicts the time of one vCTA if `count` vCTAs share the memory bandwidth.
/// An updated state adds no bytes, because at most as many bytes of it are
/// written as are read.
double TaskFuser::getVCTANs(TaskOp task, int64_t count) {
  double bytes = 0;
  for (unsigned operand = 0; operand < task.getNumOperands(); ++operand) {
    int64_t inputs = task.getInputs().size();
    if (operand < inputs || !task.isUpdated(operand - inputs))
      bytes += countTouchedBytes(task, operand);
  }
  return predictVCTANs(target, count, bytes, countBodyFlops(task));
}

/// Returns the number of tiles of a task, without tensors of one element.
static int64_t countTiles(TaskOp task) {
  auto tiles =
      task.getBody().front().getArguments().drop_front(task.getGrid().size());
  return llvm::count_if(tiles, [](BlockArgument tile) {
    return cast<RankedTensorType>(tile.getType()).getRank() > 0;
  });
}

/// Returns true if the results of `first` that `second` reads stay in
/// registers: both tasks are elementwise, `first` has few tiles, and `second`
/// updates a state, so that ark-join-elementwise joins their ops.
static bool staysInRegisters(TaskOp first, TaskOp second) {
  return countTiles(first) <= kMaxFirstTiles && second.getInPlace() &&
         isElementwise(first) && isElementwise(second);
}

/// Returns true if two tasks read the same tensor of several elements.
static bool shareTensor(TaskOp first, TaskOp second) {
  return llvm::any_of(first.getInputs(), [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getNumElements() > 1 &&
           llvm::is_contained(second.getInputs(), input);
  });
}

/// Returns true if two independent elementwise tasks should stay separate on a
/// GPU, because they share only numbers, such as a learning rate. Separate
/// tasks run on different SMs, each as soon as its own operands are ready.
/// Tasks that occupy half of the SMs gain nothing from fusion, and the
/// addresses of many tiles would take the registers of a thread.
bool TaskFuser::shouldStaySeparate(TaskOp first, TaskOp second) {
  return target.isGpu() && isElementwise(first) && isElementwise(second) &&
         !shareTensor(first, second) &&
         (2 * second.getNumVCTAs() > target.getSms() ||
          countTiles(first) + countTiles(second) > kMaxJoinedTiles);
}

/// Returns the bytes of results that become temporaries of the vCTA, excluding
/// states.
static int64_t getTemporaryBytes(TaskOp first) {
  int64_t bytes = 0;
  for (unsigned out = 0; out < first.getOuts().size(); ++out)
    if (!first.isUpdated(out))
      bytes += countTouchedBytes(first, first.getInputs().size() + out);
  return bytes;
}

/// Returns true if `second` also waits for tasks that `first` does not depend
/// on. These tasks could run concurrently with `first`.
bool TaskFuser::waitsForOthers(TaskOp first, TaskOp second) {
  return llvm::any_of(second.getInputs(), [&](Value input) {
    TaskOp producer = getProducer(input);
    return producer && producer != first && !readsResultOf(first, producer);
  });
}

/// Predicts the additional time if each of `count` vCTAs repeats the work of
/// `first`.
double TaskFuser::getRepeatingNs(TaskOp first, int64_t count) {
  int64_t sms = target.getSms(), before = first.getNumVCTAs();
  // If `first` has a single vCTA, SMs that repeat its work would otherwise wait
  // for its result. On a GPU, ark-hoist-invariants executes the work once for
  // all vCTAs of a work item.
  if (before == 1)
    return target.isGpu()
               ? 0
               : (llvm::divideCeil(count, sms) - 1) * getVCTANs(first, before);
  return llvm::divideCeil(count, sms) * getVCTANs(first, count) -
         llvm::divideCeil(before, sms) * getVCTANs(first, before);
}

/// Returns the largest possible size of a tensor, in bytes.
static int64_t getBoundedBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t bytes = getElementBytes(type.getElementType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    FailureOr<int64_t> extent = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {tensor, dim},
        /*stopCondition=*/nullptr, /*closedUB=*/true);
    // A temporary without a bound is rejected when memory is assigned.
    bytes *= succeeded(extent) ? *extent : 1;
  }
  return bytes;
}

/// Returns the tensor of which `value` is a slice, possibly of a slice.
static Value getWhole(Value value) {
  while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
    value = slice.getSource();
  return value;
}

/// Returns the bytes of the large temporaries of a vCTA, such as the scores of
/// an attention or the accumulator of a matmul tile. Counts an accumulator that
/// is itself a result as well: it takes as many registers as an accumulator
/// whose rounded value is the result.
static int64_t countLargeTemporaries(TaskOp task, int64_t memory) {
  int64_t sum = 0;
  task.getBody().walk([&](Operation *op) {
    auto fill = dyn_cast<linalg::FillOp>(op);
    bool fillsResult =
        fill && isa<BlockArgument>(getWhole(fill.getOutputs().front()));
    if (!isa<tensor::EmptyOp>(op) && !fillsResult)
      return;
    int64_t bytes = getBoundedBytes(op->getResult(0));
    if (bytes * kLargeShare >= memory)
      sum += bytes;
  });
  return sum;
}

/// Returns the bytes of the stages of f32 products, which take most of an SM's
/// memory. A product without room for its stages would not use matrix units.
static int64_t countSplitStages(TaskOp task, TargetAttr target) {
  int64_t bytes = 0;
  for (auto op : task.getBody().front().getOps<linalg::LinalgOp>()) {
    if (!isContraction(op) || !getElementTypeOrSelf(op->getOperand(0)).isF32())
      continue;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.getRank() == 2 && type.hasStaticShape())
      bytes +=
          getSplitStageBytes(target, type.getDimSize(0), type.getDimSize(1));
  }
  return bytes;
}

/// Returns the number of structured ops, including those that will replace ops
/// of the body.
static int64_t countBodyOps(TaskOp task) {
  Block &body = task.getBody().front();
  int64_t count = llvm::range_size(body.getOps<linalg::LinalgOp>());
  for (auto op : body.getOps<BodyOpInterface>())
    count += op.getNumExpandedOps();
  return count;
}

static int64_t countInsertions(TaskOp task) {
  return llvm::range_size(
      task.getBody().front().getOps<tensor::InsertSliceOp>());
}

const TaskLoad &TaskFuser::getLoad(TaskOp task) {
  auto [it, isNew] = loads.try_emplace(task);
  if (isNew) {
    int64_t count = task.getNumVCTAs();
    double saved = predictHandoffNs(target, std::min(count, target.getSms()));
    it->second.numOps = countBodyOps(task);
    it->second.numInsertions = countInsertions(task);
    it->second.isSmall = getVCTANs(task, count) <= saved;
    it->second.hasProductLoop = getProductLoop(task) != nullptr;
    if (target.isGpu()) {
      it->second.largeTemporaries =
          countLargeTemporaries(task, target.getSharedMemory());
      it->second.splitStages = countSplitStages(task, target);
    }
  }
  return it->second;
}

/// Returns true if the large temporaries of both tasks fit into an SM together.
/// Assumes that all are live at once, because live ranges are not known yet.
bool TaskFuser::fitTogether(const TaskLoad &first, const TaskLoad &second) {
  if (!target.isGpu())
    return true;
  int64_t memory = target.getSharedMemory();
  bool haveStages = first.splitStages == 0 || second.splitStages == 0 ||
                    first.splitStages + second.splitStages <= memory;
  return haveStages && first.largeTemporaries + second.largeTemporaries <=
                           memory - memory / kReservedShare;
}

/// Returns true if two independent tasks of `count` vCTAs may become one. If
/// there are SMs for the vCTAs of both tasks, separate tasks run concurrently,
/// so that fusion pays off only if one of them is small.
bool TaskFuser::isPairwiseWorthwhile(const TaskLoad &first,
                                     const TaskLoad &second, int64_t count) {
  return 2 * count > target.getSms() || first.isSmall || second.isSmall;
}

bool TaskFuser::isWorth(TaskOp first, TaskOp second, MergeKind kind) {
  int64_t sms = target.getSms(), count = second.getNumVCTAs();
  if (!readsResultOf(second, first))
    return shareProductLoop(first, second) ||
           (isPairwiseWorthwhile(getLoad(first), getLoad(second), count) &&
            !shouldStaySeparate(first, second));
  // Fusion saves the other rank a hand-off, and changes nothing for other
  // readers of the data.
  if (isPut(second))
    return kind == MergeKind::Pairwise;
  double saved = predictHandoffNs(target, std::min(count, sms));
  double firstNs = getVCTANs(first, first.getNumVCTAs());
  int64_t share = kind == MergeKind::Repeated ? kRowsShare : kMemoryShare;
  // Repeated work must not write results for other readers.
  if (kind == MergeKind::Pairwise ? !isFirstReader(second, first)
                                  : !isOnlyReader(second, first))
    return false;
  if (kind == MergeKind::Pairwise && staysInRegisters(first, second))
    return true;
  if (getTemporaryBytes(first) * share > target.getSharedMemory() ||
      (waitsForOthers(first, second) && firstNs > saved))
    return false;
  return kind == MergeKind::Pairwise || getRepeatingNs(first, count) <= saved;
}

/// Fuses a pair if fusion is possible and profitable. Tasks that are erased or
/// moved are removed from `siblings`.
bool TaskFuser::fuse(TaskOp first, TaskOp &second, MergeKind kind,
                     SiblingTasks *siblings) {
  // Another rank waits for packets, so a separate task sends them as early as
  // possible.
  if (putsPackets(first) || putsPackets(second))
    return false;
  // A network adapter executes copies only, each by itself.
  if (getNetworkPeer(first) || getNetworkPeer(second))
    return false;
  if (delaysPut(first, second))
    return false;
  if (kind == MergeKind::Pairwise
          ? first.getGrid() != second.getGrid()
          : !isRepeatable(first, second) || first.getInPlace())
    return false;
  if (first.getWarps() != second.getWarps() ||
      first.getPlanAttr() != second.getPlanAttr() ||
      getLoad(first).numOps + getLoad(second).numOps > maxOps ||
      getLoad(first).numInsertions + getLoad(second).numInsertions >
          kMaxInsertions ||
      !readsCorrespondingVcta(first, second, kind) ||
      mixVersions(first, second, kind) || chainContractions(first, second) ||
      !isWorth(first, second, kind) ||
      !(shareProductLoop(first, second) ||
        fitTogether(getLoad(first), getLoad(second))))
    return false;
  std::optional<SmallVector<Operation *>> followers =
      getFollowers(first, second);
  if (!followers)
    return false;
  Operation *last = second;
  for (Operation *follower : *followers) {
    if (auto task = dyn_cast<TaskOp>(follower); task && siblings)
      siblings->remove(task);
    rewriter.moveOpAfter(follower, last);
    last = follower;
  }
  if (siblings)
    siblings->remove(first);
  loads.erase(first);
  loads.erase(second);
  second = mergeTasks(rewriter, first, second, kind);
  return true;
}

/// Returns the tasks that produce an input of `second`.
static SmallVector<TaskOp> getProducers(TaskOp second) {
  llvm::SmallSetVector<TaskOp, 8> producers;
  for (Value input : second.getInputs())
    if (auto producer = input.getDefiningOp<TaskOp>())
      producers.insert(producer);
  return producers.takeVector();
}

/// Fuses an earlier task with an equal grid into `second`: a producer of an
/// input, or a task that shares an input. The nearest task comes first, so that
/// names and bodies keep the order of the program.
bool TaskFuser::fusePairwise(TaskOp &second, SiblingTasks &siblings) {
  if (putsPackets(second))
    return false;
  int64_t count = second.getNumVCTAs();
  auto isAccepted = [&](const TaskLoad &load) {
    const TaskLoad &own = getLoad(second);
    return load.numOps + own.numOps <= maxOps &&
           ((load.hasProductLoop && own.hasProductLoop) ||
            (fitTogether(load, own) && isPairwiseWorthwhile(load, own, count)));
  };
  return siblings.visit(
      second, getProducers(second), isAccepted, [&](TaskOp first) {
        return fuse(first, second, MergeKind::Pairwise, &siblings);
      });
}

/// Fuses a producer whose results then stay in registers. Such producers come
/// before tasks that only share an input: a fusion with such a task could leave
/// no room for further ops.
bool TaskFuser::fuseElementwiseProducer(TaskOp &second,
                                        SiblingTasks &siblings) {
  if (putsPackets(second))
    return false;
  return llvm::any_of(getProducers(second), [&](TaskOp first) {
    return staysInRegisters(first, second) &&
           fuse(first, second, MergeKind::Pairwise, &siblings);
  });
}

/// Fuses a producer of an input of `second` whose work each vCTA repeats.
bool TaskFuser::fuseProducer(TaskOp &second) {
  SmallVector<TaskOp> producers = getProducers(second);
  llvm::sort(producers,
             [](TaskOp a, TaskOp b) { return b->isBeforeInBlock(a); });
  return llvm::any_of(producers, [&](TaskOp first) {
    return fuse(first, second, MergeKind::Repeated, /*siblings=*/nullptr);
  });
}

/// Fuses tasks with equal grids. Visits the last task first, because a task is
/// fused into a later one. Returns the number of tasks that were fused into
/// others.
int64_t TaskFuser::sweepPairwise() {
  int64_t fused = 0;
  Block &block = program.getBody().front();
  SiblingTasks siblings(
      block, [](TaskOp task) { return !putsPackets(task); },
      [&](TaskOp task) { return getLoad(task); });
  for (Operation *op = &block.back(); op; op = op->getPrevNode()) {
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    siblings.remove(task);
    while (fuseElementwiseProducer(task, siblings) ||
           fusePairwise(task, siblings))
      ++fused;
    op = task;
  }
  return fused;
}

/// Fuses producers whose work each vCTA of the reader repeats. Visits the last
/// task first. Returns the number of tasks that were fused into others.
int64_t TaskFuser::sweepRepeated() {
  int64_t fused = 0;
  for (Operation *op = &program.getBody().front().back(); op;
       op = op->getPrevNode()) {
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      continue;
    while (fuseProducer(task))
      ++fused;
    op = task;
  }
  return fused;
}

int64_t TaskFuser::run() {
  int64_t fused = 0;
  while (int64_t more = sweepPairwise())
    fused += more;
  // Repetition comes last, when the fewest tasks are left to repeat the work.
  while (int64_t more = sweepRepeated())
    fused += more;
  return fused;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseTasksPass : ark::impl::FuseTasksPassBase<FuseTasksPass> {
  using FuseTasksPassBase::FuseTasksPassBase;

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    ProgramOp program = getOperation();
    TargetAttr target = findRankTarget(program);
    if (!target) {
      program.emitError("the module has no '")
          << ArkDialect::kTargetAttr
          << "', which the cost of fused tasks depends on";
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    numFused += TaskFuser(program, rewriter, target, maxOps).run();
  }
};
} // namespace
