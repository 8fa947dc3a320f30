//===- ResolveViews.cpp - Make every view expressible by strides ----------===//

#include "lib/support/PlanRank.h"
#include "passes/memory/bufferize/CopyTask.h"
#include "passes/memory/bufferize/InPlaceReads.h"
#include "passes/memory/bufferize/Passes.h"
#include "passes/memory/bufferize/TensorLayout.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RESOLVEVIEWSPASS
#include "passes/memory/bufferize/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Collects the task results that `ark.identity` orders before `tensor`.
static void collectDependences(Value tensor,
                               llvm::SetVector<Value> &dependences) {
  while (auto view = tensor.getDefiningOp<ViewOpInterface>()) {
    if (auto identity = dyn_cast<IdentityOp>(view.getOperation()))
      for (Value dependence : identity.getDeps()) {
        Value base = skipViews(dependence);
        if (base.getDefiningOp<TaskOp>())
          dependences.insert(base);
        collectDependences(dependence, dependences);
      }
    tensor = view.getViewSource();
  }
}

/// Adds `tensor` to the inputs that every vCTA of a task reads.
static void addWholeInput(TaskOp task, Value tensor) {
  MLIRContext *context = task.getContext();
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<AffineExpr> zeros(type.getRank(),
                                getAffineConstantExpr(0, context));
  auto region = RegionAttr::get(
      context, AffineMap::get(task.getGrid().size(), 0, zeros, context),
      type.getShape());
  SmallVector<Attribute> regions(task.getInputRegions().getValue());
  regions.push_back(region);
  task.getBody().insertArgument(task.getGrid().size() + task.getInputs().size(),
                                type, tensor.getLoc());
  task.getInputsMutable().append(tensor);
  task.setInputRegionsAttr(ArrayAttr::get(context, regions));
}

/// Returns the rank of a task that reads `tensor` through views, or null.
static Attribute findRankOfReader(Value tensor) {
  for (Operation *user : tensor.getUsers()) {
    Attribute rank;
    if (auto task = dyn_cast<TaskOp>(user))
      rank = getRankAttr(task);
    else if (isa<ViewOpInterface>(user))
      rank = findRankOfReader(user->getResult(0));
    if (rank)
      return rank;
  }
  return {};
}

namespace {
struct ResolveViewsPass
    : public ark::impl::ResolveViewsPassBase<ResolveViewsPass> {
  using ResolveViewsPassBase::ResolveViewsPassBase;

  void runOnOperation() override;

private:
  void eraseDeadViews();
  void copyWhereNoStrides(CopyTaskBuilder &copies);
  void copyWhatIsOverwritten(CopyTaskBuilder &copies);
  void copyIntoOutputs(CopyTaskBuilder &copies);
  void makeDependencesReads();
  void placeCopies();
};
} // namespace

void ResolveViewsPass::eraseDeadViews() {
  Block &block = getOperation().getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<ViewOpInterface>(op) && op.use_empty())
      op.erase();
}

void ResolveViewsPass::copyWhereNoStrides(CopyTaskBuilder &copies) {
  TensorPlacements placements;
  llvm::DenseMap<Value, Value> copyOf;
  auto views =
      llvm::to_vector(getOperation().getBody().getOps<ViewOpInterface>());
  for (ViewOpInterface view : views) {
    if (placements.lookup(view->getResult(0)))
      continue;
    Value source = view.getViewSource();
    Value &copy = copyOf[source];
    if (!copy) {
      // Views come in order, so the layout of the source is known.
      OpBuilder builder(view);
      copy = copies.create(builder, view.getLoc(), source,
                           placements.lookup(source)->layout);
      ++numCopies;
      view.emitRemark("strides cannot express this view of ")
          << source.getType() << ": inserted a task that copies it";
    }
    view->replaceUsesOfWith(source, copy);
  }
}

void ResolveViewsPass::copyWhatIsOverwritten(CopyTaskBuilder &copies) {
  TensorPlacements placements;
  for (auto task : llvm::to_vector(getOperation().getBody().getOps<TaskOp>()))
    for (OpResult result : task->getResults()) {
      OpOperand *updated = getUpdatedOperand(result);
      if (!updated)
        continue;
      for (OpOperand &input : task.getInputsMutable()) {
        if (skipViews(input.get()) != skipViews(updated->get()) ||
            readsOwnElements(task, input.getOperandNumber(),
                             result.getResultNumber()))
          continue;
        OpBuilder builder(task);
        input.set(copies.create(builder, task.getLoc(), input.get(),
                                placements.lookup(input.get())->layout));
        ++numCopies;
        task.emitRemark("reads more of the tensor that it updates in place "
                        "than each vCTA updates: inserted a task that copies "
                        "it");
      }
    }
}

void ResolveViewsPass::copyIntoOutputs(CopyTaskBuilder &copies) {
  TensorPlacements placements;
  Operation *terminator = getOperation().getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (isOutputBuffer(operand))
      continue;
    OpBuilder builder(terminator);
    operand.set(copies.create(builder, operand.get().getLoc(), operand.get(),
                              placements.lookup(operand.get())->layout));
    ++numCopies;
  }
}

void ResolveViewsPass::makeDependencesReads() {
  for (auto task : getOperation().getBody().getOps<TaskOp>()) {
    llvm::SetVector<Value> dependences;
    for (Value operand : task.getOperands())
      collectDependences(operand, dependences);
    for (Value input : task.getInputs())
      dependences.remove(skipViews(input));
    for (Value dependence : dependences)
      addWholeInput(task, dependence);
  }
}

/// Assigns copies to ranks in a program of several ranks: a copy runs on the
/// rank of its reader. A copy without readers is a result of the program and
/// runs on the rank of its producer.
void ResolveViewsPass::placeCopies() {
  if (getOperation().getNumRanks() == 1)
    return;
  auto tasks = llvm::to_vector(getOperation().getBody().getOps<TaskOp>());
  // Visits readers before their producers, because a reader may be a copy whose
  // rank is assigned here as well.
  for (TaskOp task : llvm::reverse(tasks)) {
    if (getRankAttr(task))
      continue;
    Attribute rank = findRankOfReader(task.getResult(0));
    if (auto producer = skipViews(task.getInputs()[0]).getDefiningOp<TaskOp>();
        !rank && producer)
      rank = getRankAttr(producer);
    if (rank)
      task.setPlanAttr(DictionaryAttr::get(
          task.getContext(),
          NamedAttribute(
              StringAttr::get(task.getContext(), ArkDialect::kRankKey), rank)));
  }
}

void ResolveViewsPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (program.getBody().empty() || program.isBufferized())
    return;
  if (failed(verifyOnTensors(program)))
    return signalPassFailure();
  CopyTaskBuilder copies(program);
  eraseDeadViews();
  copyWhereNoStrides(copies);
  copyWhatIsOverwritten(copies);
  copyIntoOutputs(copies);
  makeDependencesReads();
  placeCopies();
}
