//===- Destinations.cpp - Where a body computes its values ----------------===//

#include "passes/tiling/TaskBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ark;

/// The operand whose memory `value` gets, or null where it comes from none.
static OpOperand *getDestination(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto insertion = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    return &insertion.getDestMutable();
  if (auto style = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return style.getTiedOpOperand(cast<OpResult>(value));
  return nullptr;
}

/// Accumulators that start equal share a fill, and tensors without values an
/// op, after CSE. Each needs memory of its own.
void ark::unshareInits(RewriterBase &rewriter, Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isa<tensor::EmptyOp, linalg::FillOp>(op))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getUses())
      uses.push_back(&use);
    if (uses.size() < 2)
      continue;
    for (OpOperand *use : llvm::drop_begin(uses)) {
      rewriter.setInsertionPoint(&op);
      IRMapping mapping;
      // Its uses have been split already.
      if (auto fill = dyn_cast<linalg::FillOp>(op))
        if (auto empty =
                fill.getOutputs().front().getDefiningOp<tensor::EmptyOp>())
          rewriter.clone(*empty, mapping);
      Operation *clone = rewriter.clone(op, mapping);
      rewriter.modifyOpInPlace(use->getOwner(),
                               [&] { use->set(clone->getResult(0)); });
    }
  }
}

/// Parts of a tensor are computed in it, one after the other: what is inserted
/// comes right before its insertion, when the parts before it are there.
static void sinkInsertedParts(RewriterBase &rewriter, Block &body) {
  for (auto insertion : body.getOps<tensor::InsertSliceOp>()) {
    Operation *source = insertion.getSource().getDefiningOp();
    if (source && source->hasOneUse() && source->getBlock() == &body &&
        isa<linalg::LinalgOp>(source))
      rewriter.moveOpBefore(source, insertion);
  }
}

/// Whether all other readers of `use`'s value come before `use`'s owner.
static bool isLastUse(OpOperand &use) {
  Block *block = use.getOwner()->getBlock();
  return llvm::all_of(use.get().getUses(), [&](OpOperand &other) {
    if (&other == &use)
      return true;
    Operation *user = block->findAncestorOpInBlock(*other.getOwner());
    return user && user != use.getOwner() &&
           user->isBeforeInBlock(use.getOwner());
  });
}

/// Lets an elementwise op overwrite an operand that nothing reads afterwards,
/// as an epilogue does with its accumulator.
static void computeInPlace(RewriterBase &rewriter, linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!init->get().getDefiningOp<tensor::EmptyOp>())
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    // Memory of the body only: what comes from an operand is not ours.
    OpOperand *source = getDestination(input->get());
    if (!source || input->get().getType() != init->get().getType() ||
        op.getMatchingIndexingMap(input) != op.getMatchingIndexingMap(init) ||
        !isLastUse(*input))
      continue;
    BlockArgument element = op.getMatchingBlockArgument(input);
    BlockArgument target = op.getMatchingBlockArgument(init);
    if (!target.use_empty())
      return;
    rewriter.modifyOpInPlace(op, [&] {
      rewriter.replaceAllUsesWith(element, target);
      init->set(input->get());
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      maps.erase(maps.begin() + input->getOperandNumber());
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
      op.getBody()->eraseArgument(element.getArgNumber());
      op.getInputsMutable().erase(input->getOperandNumber());
    });
    return;
  }
}

/// The copy that ends a body: what a task yields, or inserts into a state.
static linalg::CopyOp getFinalCopy(TaskOp task) {
  Value yielded = task.getBody().front().getTerminator()->getOperand(0);
  if (auto insertion = yielded.getDefiningOp<tensor::InsertSliceOp>())
    if (auto copy = insertion.getSource().getDefiningOp<linalg::CopyOp>())
      return copy;
  return yielded.getDefiningOp<linalg::CopyOp>();
}

void ark::computeInDestination(RewriterBase &rewriter, TaskOp task) {
  Block &body = task.getBody().front();
  sinkInsertedParts(rewriter, body);
  unshareInits(rewriter, body);
  for (auto op : llvm::make_early_inc_range(body.getOps<linalg::GenericOp>()))
    computeInPlace(rewriter, op);
  linalg::CopyOp copy = getFinalCopy(task);
  Value destination = copy.getOutputs().front();
  // Follow the result to where its memory comes from. If that is no memory of
  // the body, the result is a part of an operand and the copy stays.
  OpOperand *operand = getDestination(copy.getInputs().front());
  while (operand && getDestination(operand->get()))
    operand = getDestination(operand->get());
  if (!operand || !operand->get().getDefiningOp<tensor::EmptyOp>() ||
      operand->get().getType() != destination.getType())
    return;
  rewriter.modifyOpInPlace(operand->getOwner(),
                           [&] { operand->set(destination); });
  rewriter.replaceOp(copy, copy.getInputs());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}
