//===- FormGroups.cpp - Group anchors with producers and consumers --------===//

#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/PlanUnit.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FORMGROUPSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Grouping
//===----------------------------------------------------------------------===//

namespace {
/// Ops that become one group. Only ops of the group read results other than
/// that of `root`, so that the group can replace `root`.
struct Group {
  SmallVector<Operation *> ops;
  Operation *anchor = nullptr;
  Operation *root = nullptr;
  Attribute plan;
};

class Grouping {
public:
  Grouping(ProgramOp program, int64_t maxOps);

  /// Returns the groups in the order of their roots.
  SmallVector<Group *> getGroups();

private:
  void growEpilogue(Group &group);
  bool waitsForAnotherPlan(Operation *op, const Group &group);
  void growPrologue(Group &group, ArrayRef<Value> operands);
  bool canJoin(Group &group, Operation *op, Operation *root);
  bool canMove(Group &group, Operation *op, Operation *root);
  void joinProduct(GatherOp gather);
  void join(Group &group, Operation *op);
  Group &startGroup(Operation *op);

  int64_t maxOps;
  Overwriters overwriters;
  DenseMap<Operation *, unsigned> position;
  llvm::MapVector<Operation *, Group *> groupOf;
  SmallVector<std::unique_ptr<Group>> groups;
};
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns the operands of the epilogue of a group.
static SmallVector<Value> getEpilogueOperands(const Group &group) {
  SmallVector<Value> operands;
  for (Operation *op : group.ops)
    if (isa<ElementwiseOpInterface>(op))
      llvm::append_range(operands, op->getOperands());
  return operands;
}

Grouping::Grouping(ProgramOp program, int64_t maxOps)
    : maxOps(maxOps), overwriters(program.getBody().front()) {
  Block &block = program.getBody().front();
  SmallVector<AnchorOpInterface> anchors;
  SmallVector<GatherOp> choices;
  SmallVector<Operation *> elementwise;
  for (auto [index, op] : llvm::enumerate(block)) {
    position[&op] = index;
    if (auto gather = dyn_cast<GatherOp>(op);
        gather && getProductOfGathered(gather))
      choices.push_back(gather);
    else if (auto anchor = dyn_cast<AnchorOpInterface>(op))
      anchors.push_back(anchor);
    else if (isa<ElementwiseOpInterface>(op))
      elementwise.push_back(&op);
  }
  // An epilogue always saves a round trip through memory, so all anchors choose
  // their epilogues before any anchor chooses a prologue.
  for (AnchorOpInterface anchor : anchors)
    if (Group &group = startGroup(anchor); anchor.takesEpilogue())
      growEpilogue(group);
  for (GatherOp gather : choices)
    joinProduct(gather);
  for (AnchorOpInterface anchor : anchors) {
    Group &group = *groupOf[anchor];
    growPrologue(group, anchor.getPrologueOperands());
    growPrologue(group, getEpilogueOperands(group));
  }
  for (Operation *op : llvm::reverse(elementwise))
    if (!groupOf.count(op))
      growPrologue(startGroup(op), llvm::to_vector(op->getOperands()));
}

SmallVector<Group *> Grouping::getGroups() {
  SmallVector<Group *> sorted;
  for (std::unique_ptr<Group> &group : groups)
    sorted.push_back(group.get());
  auto before = [&](Operation *a, Operation *b) {
    return position.at(a) < position.at(b);
  };
  llvm::sort(sorted,
             [&](Group *a, Group *b) { return before(a->root, b->root); });
  for (Group *group : sorted)
    llvm::sort(group->ops, before);
  return sorted;
}

Group &Grouping::startGroup(Operation *op) {
  groups.push_back(std::make_unique<Group>());
  Group &group = *groups.back();
  group.root = op;
  if (isa<AnchorOpInterface>(op))
    group.anchor = op;
  join(group, op);
  return group;
}

void Grouping::join(Group &group, Operation *op) {
  group.ops.push_back(op);
  groupOf[op] = &group;
  if (!group.plan)
    group.plan = op->getDiscardableAttr(ArkDialect::kPlanAttr);
}

/// Returns true if the elementwise `op`, which is in no group, may join a
/// group with result `root`.
bool Grouping::canJoin(Group &group, Operation *op, Operation *root) {
  return isa<ElementwiseOpInterface>(op) && !groupOf.count(op) &&
         static_cast<int64_t>(group.ops.size()) < maxOps &&
         canMove(group, op, root);
}

/// Returns true if the plan of `op` is absent or equals the plan of the
/// group, and all ops that move to the position of `root` still read the same
/// values.
bool Grouping::canMove(Group &group, Operation *op, Operation *root) {
  Attribute plan = op->getDiscardableAttr(ArkDialect::kPlanAttr);
  if (plan && plan != group.plan)
    return false;
  auto staysValid = [&](Operation *moved) {
    return llvm::all_of(moved->getOperands(), [&](Value operand) {
      Operation *overwriter = overwriters.lookup(operand);
      // An update does not read its own state.
      if (!overwriter || overwriter == moved ||
          position[overwriter] < position[moved] ||
          position[overwriter] > position[root])
        return true;
      // A vCTA of the update writes while other vCTAs still read.
      auto update = dyn_cast<UpdateOp>(overwriter);
      return update && update == group.anchor &&
             readsOwnElements(update, operand);
    });
  };
  return staysValid(op) && llvm::all_of(group.ops, staysValid);
}

/// Returns true if `op` would make a pinned group wait for a group with another
/// pin. Pinned groups are meant to run concurrently, before `op`. An op of a
/// microbatch joins a group of its own unit, which waits for its operands
/// anyway.
bool Grouping::waitsForAnotherPlan(Operation *op, const Group &group) {
  auto own = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr);
  if (!group.plan || (own && own.contains(kMicrobatchKey)))
    return false;
  SmallVector<Value> worklist(op->getOperands());
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *producer = getViewBase(worklist.pop_back_val()).getDefiningOp();
    if (!producer || groupOf.lookup(producer) == &group ||
        !seen.insert(producer).second)
      continue;
    Attribute plan = producer->getDiscardableAttr(ArkDialect::kPlanAttr);
    if (plan && plan != group.plan)
      return true;
    // An op without a plan may become part of a group with a plan.
    if (!plan && isa<ElementwiseOpInterface>(producer))
      llvm::append_range(worklist, producer->getOperands());
  }
  return false;
}

void Grouping::growEpilogue(Group &group) {
  while (true) {
    Value result = group.root->getResult(0);
    llvm::SmallSetVector<Operation *, 4> users(result.user_begin(),
                                               result.user_end());
    if (users.size() != 1)
      return;
    Operation *user = users.front();
    if (!canJoin(group, user, user) || waitsForAnotherPlan(user, group) ||
        getShape(user->getResult(0)) != getShape(result))
      return;
    join(group, user);
    group.root = user;
  }
}

/// Adds a gather of matrices to the group of the product that multiplies by
/// them. The epilogue of this group is final.
void Grouping::joinProduct(GatherOp gather) {
  Group &group = *groupOf[getProductOfGathered(gather)];
  if (canMove(group, gather, group.root))
    join(group, gather);
  else
    startGroup(gather);
}

void Grouping::growPrologue(Group &group, ArrayRef<Value> operands) {
  SmallVector<Value> worklist(operands);
  while (!worklist.empty()) {
    Value operand = worklist.pop_back_val();
    Operation *producer = operand.getDefiningOp();
    if (!producer || !canJoin(group, producer, group.root))
      continue;
    // All readers of the producer must be in this group. Only casts may compute
    // an element twice, so elementwise readers of other producers must have the
    // shape of the producer. Shapes of users outside of the group are not
    // compared, because ops such as the return have no result.
    bool staysInside = llvm::all_of(producer->getUsers(), [&](Operation *user) {
      return groupOf.lookup(user) == &group &&
             (isa<AnchorOpInterface>(user) || isa<CastOp>(producer) ||
              getShape(user->getResult(0)) == getShape(operand));
    });
    if (!staysInside)
      continue;
    join(group, producer);
    llvm::append_range(worklist, producer->getOperands());
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
class GroupBuilder {
public:
  explicit GroupBuilder(ProgramOp program) {
    for (auto group : program.getBody().getOps<GroupOp>())
      names.insert({group.getName(), 1});
  }

  /// Creates the `ark.group` of a group and replaces the result of its root.
  /// The grouped ops stay in place without uses.
  GroupOp build(const Group &group);

private:
  std::string makeName(const Group &group);

  llvm::StringMap<unsigned> names;
};
} // namespace

std::string GroupBuilder::makeName(const Group &group) {
  Operation *op = group.anchor ? group.anchor : group.root;
  StringRef name = getUserName(op->getLoc());
  if (name.empty())
    name = op->getName().stripDialect();
  unsigned &count = names[name];
  if (++count == 1)
    return name.str();
  // The user may also have named an op `add_2`.
  std::string unique = (name + "_" + Twine(count)).str();
  while (!names.insert({unique, 1}).second)
    unique = (name + "_" + Twine(++count)).str();
  return unique;
}

/// Returns the tensor that a group at `reader` must depend on if it depends on
/// `base`: the result of the last update of `base` before `reader`, or `base`
/// itself. A dependence on an older version of a state would be a read after
/// the update of this version.
static Value getLastUpdate(Value base, Operation *reader) {
  for (Operation *user : base.getUsers())
    if (isa<GroupOp>(user) && getUpdatedState(user) == base &&
        user->isBeforeInBlock(reader))
      return getLastUpdate(user->getResult(0), reader);
  return base;
}

/// Collects the tensors that must be complete before `value` is read: the deps
/// of the `ark.identity` ops between `value` and its base.
static void collectDeps(Value value, Operation *reader,
                        llvm::SetVector<Value> &deps) {
  for (auto view = value.getDefiningOp<ViewOpInterface>(); view;
       view = view.getViewSource().getDefiningOp<ViewOpInterface>()) {
    auto identity = dyn_cast<IdentityOp>(view.getOperation());
    if (!identity)
      continue;
    for (Value dep : identity.getDeps()) {
      collectDeps(dep, reader, deps);
      // Arguments and constants are complete from the start.
      if (getViewBase(dep).getDefiningOp<GroupOp>())
        deps.insert(getLastUpdate(getViewBase(dep), reader));
    }
  }
}

GroupOp GroupBuilder::build(const Group &group) {
  llvm::SetVector<Value> inputs, splats, deps;
  llvm::SmallPtrSet<Operation *, 8> inside(group.ops.begin(), group.ops.end());
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (inside.contains(producer))
        continue;
      collectDeps(operand, group.root, deps);
      (getSplat(operand) ? splats : inputs).insert(operand);
    }
  inputs.insert(deps.begin(), deps.end());

  Operation *anchor = group.anchor ? group.anchor : group.root;
  OpBuilder builder(group.root);
  auto groupOp = GroupOp::create(
      builder, anchor->getLoc(), group.root->getResultTypes(),
      builder.getStringAttr(makeName(group)), inputs.getArrayRef(),
      /*tile=*/nullptr, dyn_cast_or_null<DictionaryAttr>(group.plan));
  Block &body = groupOp.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Value splat : splats)
    builder.clone(*splat.getDefiningOp(), mapping);
  for (Operation *op : group.ops)
    // From here on, the `ark.group` carries the plan.
    builder.clone(*op, mapping)->removeDiscardableAttr(ArkDialect::kPlanAttr);
  YieldOp::create(builder, group.root->getLoc(),
                  ValueRange{mapping.lookup(group.root->getResult(0))});
  group.root->getResult(0).replaceAllUsesWith(groupOp.getResult(0));
  return groupOp;
}

/// Removes identities, whose dependences the groups now carry. Remaining
/// identities are no-ops.
static void removeIdentities(ProgramOp program) {
  for (auto identity :
       llvm::make_early_inc_range(program.getBody().getOps<IdentityOp>())) {
    identity.replaceAllUsesWith(identity.getSource());
    identity.erase();
  }
}

static void removeDeadOps(ProgramOp program) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct FormGroupsPass : ark::impl::FormGroupsPassBase<FormGroupsPass> {
  using FormGroupsPassBase::FormGroupsPassBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    // A dead reader would keep its producers out of groups.
    removeDeadOps(program);
    Grouping grouping(program, maxOps);
    SmallVector<Group *> groups = grouping.getGroups();
    GroupBuilder builder(program);
    for (Group *group : groups) {
      builder.build(*group);
      ++numGroups;
      numFused += group->ops.size() - 1;
    }
    for (Group *group : llvm::reverse(groups))
      for (Operation *op : llvm::reverse(group->ops))
        op->erase();
    removeIdentities(program);
    removeDeadOps(program);
  }
};
} // namespace
