//===- Destinations.cpp - Where a body computes its values ----------------===//

#include "passes/tiling/TaskBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

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

/// The use of `empty` by the slice that what `insertion` inserts into it is
/// computed in; null without one.
static OpOperand *getSliceOfDestination(tensor::InsertSliceOp insertion,
                                        Value empty) {
  Value place = insertion.getSource();
  while (OpOperand *destination = getDestination(place))
    place = destination->get();
  auto slice = place.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice->hasOneUse() && slice.getSource() == empty &&
                 slice.getMixedOffsets() == insertion.getMixedOffsets() &&
                 slice.getMixedSizes() == insertion.getMixedSizes() &&
                 slice.getMixedStrides() == insertion.getMixedStrides()
             ? &slice.getSourceMutable()
             : nullptr;
}

/// The uses of an init that want memory of their own, each with those that want
/// the same: a part that is computed in its place.
static SmallVector<SmallVector<OpOperand *, 2>> getUsers(Operation *init) {
  llvm::SetVector<OpOperand *> uses;
  SmallVector<SmallVector<OpOperand *, 2>> users;
  for (OpOperand &use : init->getUses())
    uses.insert(&use);
  llvm::SmallPtrSet<OpOperand *, 4> slices;
  for (OpOperand *use : uses) {
    auto insertion = dyn_cast<tensor::InsertSliceOp>(use->getOwner());
    if (!insertion || use != &insertion.getDestMutable())
      continue;
    if (OpOperand *slice =
            getSliceOfDestination(insertion, init->getResult(0))) {
      users.push_back({use, slice});
      slices.insert({use, slice});
    }
  }
  for (OpOperand *use : uses)
    if (!slices.contains(use))
      users.push_back({use});
  return users;
}

/// Accumulators that start equal share a fill, and tensors without values an
/// op, after CSE. Each needs memory of its own, and comes right before its use:
/// the memory that is found for it may be part of what is only there by then.
void ark::unshareInits(RewriterBase &rewriter, Block &body) {
  // First all of them: two that move to one op would be met again and again.
  SmallVector<Operation *> inits;
  for (Operation &op : body)
    if (isa<tensor::EmptyOp, linalg::FillOp>(op) && !op.use_empty())
      inits.push_back(&op);
  for (Operation *op : inits) {
    auto getFirst = [&](ArrayRef<OpOperand *> uses) {
      SmallVector<Operation *> owners;
      for (OpOperand *use : uses)
        owners.push_back(body.findAncestorOpInBlock(*use->getOwner()));
      return *llvm::min_element(owners, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
    };
    SmallVector<SmallVector<OpOperand *, 2>> users = getUsers(op);
    for (ArrayRef<OpOperand *> uses : llvm::drop_begin(users)) {
      rewriter.setInsertionPoint(getFirst(uses));
      IRMapping mapping;
      // Its uses have been split already.
      if (auto fill = dyn_cast<linalg::FillOp>(op))
        if (auto empty =
                fill.getOutputs().front().getDefiningOp<tensor::EmptyOp>())
          rewriter.clone(*empty, mapping);
      Operation *clone = rewriter.clone(*op, mapping);
      for (OpOperand *use : uses)
        rewriter.modifyOpInPlace(use->getOwner(),
                                 [&] { use->set(clone->getResult(0)); });
    }
    rewriter.moveOpBefore(op, getFirst(users.front()));
  }
}

/// Whether a slice or an insertion is of all elements, perhaps without unit
/// dimensions.
template <typename OpTy>
static bool isWhole(OpTy op, RankedTensorType whole) {
  return whole.hasStaticShape() && op.hasUnitStride() && op.hasZeroOffset() &&
         op.getStaticSizes() == whole.getShape();
}

/// What is inserted only to get unit dimensions, and then inserted as a part,
/// is inserted at once.
static void insertAtOnce(RewriterBase &rewriter, Block &body) {
  for (auto insertion : body.getOps<tensor::InsertSliceOp>()) {
    auto inner = insertion.getSource().getDefiningOp<tensor::InsertSliceOp>();
    if (!inner || !inner->hasOneUse() || !isWhole(inner, inner.getDestType()) ||
        insertion.getStaticSizes() != inner.getDestType().getShape())
      continue;
    rewriter.modifyOpInPlace(insertion, [&] {
      insertion.getSourceMutable().set(inner.getSource());
    });
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

static void eraseDead(RewriterBase &rewriter, Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
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

namespace {
/// A value that goes to memory of its own, and the op whose result is that.
struct Placement {
  Value source, destination;
  Operation *op;
};
} // namespace

/// What the final copy does; on the way of the copy unit dimensions come and
/// go, which is no more than a view.
static Placement getPlacement(linalg::CopyOp copy) {
  auto slice = copy.getInputs().front().getDefiningOp<tensor::ExtractSliceOp>();
  auto insertion = copy->hasOneUse()
                       ? dyn_cast<tensor::InsertSliceOp>(*copy->user_begin())
                       : tensor::InsertSliceOp();
  if (slice && insertion && slice.getSourceType() == insertion.getDestType() &&
      isWhole(slice, slice.getSourceType()) &&
      isWhole(insertion, insertion.getDestType()))
    return {slice.getSource(), insertion.getDest(), insertion};
  return {copy.getInputs().front(), copy.getOutputs().front(), copy};
}

void ark::computeInDestination(RewriterBase &rewriter, TaskOp task) {
  Block &body = task.getBody().front();
  insertAtOnce(rewriter, body);
  eraseDead(rewriter, body);
  sinkInsertedParts(rewriter, body);
  unshareInits(rewriter, body);
  for (auto op : llvm::make_early_inc_range(body.getOps<linalg::GenericOp>()))
    computeInPlace(rewriter, op);
  Placement final = getPlacement(getFinalCopy(task));
  // Follow the result to where its memory comes from. If that is no memory of
  // the body, the result is a part of an operand and the copy stays.
  OpOperand *operand = getDestination(final.source);
  while (operand && getDestination(operand->get()))
    operand = getDestination(operand->get());
  if (!operand || !operand->get().getDefiningOp<tensor::EmptyOp>() ||
      operand->get().getType() != final.destination.getType())
    return;
  rewriter.modifyOpInPlace(operand->getOwner(),
                           [&] { operand->set(final.destination); });
  rewriter.replaceOp(final.op, final.source);
  eraseDead(rewriter, body);
}
