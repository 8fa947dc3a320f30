//===- GraphUtils.cpp - Queries on the tensor graph -----------------------===//

#include "lib/support/GraphUtils.h"

using namespace mlir;
using namespace mlir::ark;

RankedTensorType ark::getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

SplatElementsAttr ark::getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                  : SplatElementsAttr();
}

Value ark::getViewBase(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view.getViewSource();
  return value;
}

Value ark::getUpdatedState(Operation *op) {
  if (auto update = dyn_cast<UpdateOp>(op))
    return update.getState();
  if (auto group = dyn_cast<GroupOp>(op))
    for (auto update : group.getBody().getOps<UpdateOp>())
      if (auto argument = dyn_cast<BlockArgument>(update.getState()))
        return group.getInputs()[argument.getArgNumber()];
  return {};
}

static Value skipIdentities(Value value) {
  while (auto identity = value.getDefiningOp<IdentityOp>())
    value = identity.getSource();
  return value;
}

bool ark::readsOwnElements(UpdateOp update, Value operand) {
  ArrayRef<int64_t> written = getTensorType(update.getValue()).getShape();
  if (getTensorType(operand).getShape() != written ||
      !update.getOffsets().empty())
    return false;
  operand = skipIdentities(operand);
  SmallVector<int64_t> starts(written.size(), 0);
  if (auto slice = operand.getDefiningOp<SliceOp>()) {
    if (llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; }))
      return false;
    starts.assign(slice.getStarts().begin(), slice.getStarts().end());
    operand = skipIdentities(slice.getSource());
  }
  return operand == skipIdentities(update.getState()) &&
         ArrayRef<int64_t>(starts) == update.getStaticOffsets();
}

Overwriters::Overwriters(Block &block) {
  for (Operation &op : block)
    if (Value state = getUpdatedState(&op))
      updates.insert({state, &op});
}

Operation *Overwriters::lookup(Value value) const {
  return updates.lookup(getViewBase(value));
}

bool ark::isState(Value value) {
  Value base = getViewBase(value);
  if (Operation *op = base.getDefiningOp())
    return static_cast<bool>(getUpdatedState(op));
  auto program =
      dyn_cast<ProgramOp>(cast<BlockArgument>(base).getOwner()->getParentOp());
  return program &&
         program.getArgumentKind(cast<BlockArgument>(base).getArgNumber()) ==
             ArgumentKind::State;
}

StringRef ark::getUserName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getUserName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getUserName(part); !name.empty())
        return name;
  return {};
}

bool ark::dependsOn(Operation *second, Operation *first) {
  // Visits the producers of `second` after `first`: in a program of several
  // ranks, most ops in between belong to other ranks.
  llvm::SmallPtrSet<Operation *, 8> visited;
  SmallVector<Operation *> pending = {second};
  while (!pending.empty())
    for (Value operand : pending.pop_back_val()->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op == first)
        return true;
      if (op && op->getBlock() == first->getBlock() &&
          first->isBeforeInBlock(op) && visited.insert(op).second)
        pending.push_back(op);
    }
  return false;
}
