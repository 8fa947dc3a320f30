//===- OverwrittenStates.cpp - Copy states before their updates -----------===//

#include "passes/graph/OverwrittenStates.h"

#include "lib/support/GraphUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Collects the uses of `state`, directly or through views, by ops that read it
/// after `update`. The deps of an identity are not reads.
static void collectStaleUses(Value state, UpdateOp update,
                             SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : state.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ViewOpInterface>(user)) {
      if (use.getOperandNumber() == 0)
        collectStaleUses(user->getResult(0), update, uses);
    } else if (user != update && update->isBeforeInBlock(user)) {
      uses.push_back(&use);
    }
  }
}

/// Redirects `use` from elements of `state` to the same elements of `copy`.
static void redirect(OpOperand *use, Value state, Value copy) {
  SmallVector<Operation *> views;
  for (Value value = use->get(); value != state;) {
    views.push_back(value.getDefiningOp());
    value = cast<ViewOpInterface>(views.back()).getViewSource();
  }
  // The deps of an identity stay: only its source is replaced.
  OpBuilder builder(use->getOwner());
  Value value = copy;
  for (Operation *view : llvm::reverse(views)) {
    Operation *clone = builder.clone(*view);
    clone->setOperand(0, value);
    value = clone->getResult(0);
  }
  use->set(value);
}

unsigned ark::copyOverwrittenStates(ProgramOp program) {
  unsigned copies = 0;
  for (auto update : program.getBody().getOps<UpdateOp>()) {
    Value state = update.getState();
    OpBuilder builder(update);
    // A vCTA of the update must not read elements that another vCTA writes.
    if (getViewBase(update.getValue()) == state) {
      update.getValueMutable().assign(
          CopyOp::create(builder, update.getLoc(), update.getValue()));
      ++copies;
    }
    SmallVector<OpOperand *> stale;
    collectStaleUses(state, update, stale);
    if (stale.empty())
      continue;
    Value copy = CopyOp::create(builder, update.getLoc(), state);
    ++copies;
    for (OpOperand *use : stale)
      redirect(use, state, copy);
  }
  return copies;
}
