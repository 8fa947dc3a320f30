//===- Destinations.cpp - Choose the memory in which bodies compute -------===//

#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the operand whose memory `value` reuses, or null if there is none.
static OpOperand *getDestination(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto insertion = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    return &insertion.getDestMutable();
  if (auto style = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return style.getTiedOpOperand(cast<OpResult>(value));
  return nullptr;
}

/// Returns the use of `empty` by the slice in which the source of `insertion`
/// is computed, or null.
static OpOperand *getSliceOfDestination(tensor::InsertSliceOp insertion,
                                        Value empty) {
  Value root = insertion.getSource();
  while (OpOperand *destination = getDestination(root))
    root = destination->get();
  auto slice = root.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice->hasOneUse() && slice.getSource() == empty &&
                 slice.getMixedOffsets() == insertion.getMixedOffsets() &&
                 slice.getMixedSizes() == insertion.getMixedSizes() &&
                 slice.getMixedStrides() == insertion.getMixedStrides()
             ? &slice.getSourceMutable()
             : nullptr;
}

/// Groups the uses of an init. Each group needs its own memory. If a slice of
/// the init is computed in place and then inserted into it, both uses form one
/// group.
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

/// Returns true for an insertion into a tensor that other insertions have not
/// filled yet: the first part of a concatenation.
static bool insertsIntoEmpty(tensor::InsertSliceOp op) {
  while (auto before = op.getDest().getDefiningOp<tensor::InsertSliceOp>())
    op = before;
  return op.getDest().getDefiningOp<tensor::EmptyOp>() != nullptr;
}

/// Undoes the merging of equal first parts of concatenations by CSE. Each
/// concatenation would otherwise copy the parts, and with them elements that no
/// op has filled. Visits the last insertion first, because a clone is another
/// use of the insertion before it.
static void unshareFirstParts(RewriterBase &rewriter, Block &body) {
  auto isContinued = [](OpOperand &use) {
    auto next = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
    return next && use == next.getDestMutable();
  };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    auto part = dyn_cast<tensor::InsertSliceOp>(op);
    if (!part || part->hasOneUse() || !insertsIntoEmpty(part) ||
        !llvm::all_of(part->getUses(), isContinued))
      continue;
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(part->getUses()))) {
      rewriter.setInsertionPoint(use.getOwner());
      Operation *clone = rewriter.clone(*part);
      rewriter.modifyOpInPlace(use.getOwner(),
                               [&] { use.set(clone->getResult(0)); });
    }
  }
}

/// Undoes the merging of inits by CSE: accumulators with equal initial values
/// share a fill, and uninitialised tensors share an op, although each needs its
/// own memory. Moves each init directly before its first use, because the
/// memory found for it may be part of a value that only exists at that point.
void ark::unshareInits(RewriterBase &rewriter, Block &body) {
  unshareFirstParts(rewriter, body);
  // Collects all inits first, because two inits that move before the same op
  // would otherwise be visited again and again.
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
      // The uses of the empty tensor have been split already.
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

/// Returns true if a slice or an insertion covers all elements, possibly
/// without unit dimensions.
template <typename OpTy>
static bool isWhole(OpTy op, RankedTensorType whole) {
  return whole.hasStaticShape() && op.hasUnitStride() && op.hasZeroOffset() &&
         op.getStaticSizes() == whole.getShape();
}

/// Joins two nested insertions into one, if the inner one only adds unit
/// dimensions.
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

/// Moves the op that computes an inserted part directly before the insertion.
/// The parts of a tensor are then computed in the tensor one after the other.
static void sinkInsertedParts(RewriterBase &rewriter, Block &body) {
  for (auto insertion : body.getOps<tensor::InsertSliceOp>()) {
    Operation *source = insertion.getSource().getDefiningOp();
    if (source && source->hasOneUse() && source->getBlock() == &body &&
        isa<linalg::LinalgOp, BodyOpInterface>(source))
      rewriter.moveOpBefore(source, insertion);
  }
}

static void eraseDead(RewriterBase &rewriter, Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

/// Returns true if all other readers of the value precede the owner of `use`.
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

/// Lets an elementwise op overwrite an operand that no later op reads. An
/// epilogue thus overwrites its accumulator.
static void computeInPlace(RewriterBase &rewriter, linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!init->get().getDefiningOp<tensor::EmptyOp>())
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    // Only memory of the body may be overwritten, not memory of an operand.
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

/// Returns the copy that ends a body, or null: its result is yielded, or
/// inserted into a state.
static linalg::CopyOp getFinalCopy(TaskOp task) {
  Value yielded = task.getBody().front().getTerminator()->getOperand(0);
  if (auto insertion = yielded.getDefiningOp<tensor::InsertSliceOp>())
    if (auto copy = insertion.getSource().getDefiningOp<linalg::CopyOp>())
      return copy;
  return yielded.getDefiningOp<linalg::CopyOp>();
}

namespace {
/// A value, the memory that it should be computed in, and the op that transfers
/// it.
struct Placement {
  Value source, destination;
  Operation *op;
};
} // namespace

/// Returns the placement that the final copy performs. Around the copy, unit
/// dimensions may be dropped and restored, which is only a view.
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
  linalg::CopyOp copy = getFinalCopy(task);
  // A body that computes in its tile already has no copy.
  if (!copy)
    return;
  Placement final = getPlacement(copy);
  // Follows the result to the origin of its memory. If the origin is not memory
  // of the body, the result is a part of an operand and the copy stays.
  OpOperand *operand = getDestination(final.source);
  while (operand && getDestination(operand->get()))
    operand = getDestination(operand->get());
  if (!operand || !operand->get().getDefiningOp<tensor::EmptyOp>() ||
      operand->get().getType() != final.destination.getType())
    return;
  // The destination may be a slice of the out's tile that follows the op.
  if (failed(moveValueDefinitions(rewriter, final.destination,
                                  operand->getOwner())))
    return;
  rewriter.modifyOpInPlace(operand->getOwner(),
                           [&] { operand->set(final.destination); });
  rewriter.replaceOp(final.op, final.source);
  eraseDead(rewriter, body);
}
