//===- FormGroups.cpp - Group anchors with producers and consumers --------===//

#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
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
// Clustering
//===----------------------------------------------------------------------===//

namespace {
/// Ops that become one group. Only ops of the cluster read results other than
/// that of `root`, so that the group can replace `root`.
struct Cluster {
  SmallVector<Operation *> ops;
  Operation *anchor = nullptr;
  Operation *root = nullptr;
  Attribute plan;
};

class Clustering {
public:
  Clustering(ProgramOp program, int64_t maxOps);

  /// Returns the clusters in the order of their roots.
  SmallVector<Cluster *> getClusters();

private:
  void growEpilogue(Cluster &cluster);
  bool waitsForAnotherPlan(Operation *op, const Cluster &cluster);
  void growPrologue(Cluster &cluster, ArrayRef<Value> operands);
  bool canJoin(Cluster &cluster, Operation *op, Operation *root);
  bool canMove(Cluster &cluster, Operation *op, Operation *root);
  void joinProduct(GatherOp gather);
  void join(Cluster &cluster, Operation *op);
  Cluster &startCluster(Operation *op);

  int64_t maxOps;
  Overwriters overwriters;
  DenseMap<Operation *, unsigned> position;
  llvm::MapVector<Operation *, Cluster *> clusterOf;
  SmallVector<std::unique_ptr<Cluster>> clusters;
};
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns the operands of the epilogue of a cluster.
static SmallVector<Value> getEpilogueOperands(const Cluster &cluster) {
  SmallVector<Value> operands;
  for (Operation *op : cluster.ops)
    if (isa<ElementwiseOpInterface>(op))
      llvm::append_range(operands, op->getOperands());
  return operands;
}

Clustering::Clustering(ProgramOp program, int64_t maxOps)
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
    if (Cluster &cluster = startCluster(anchor); anchor.takesEpilogue())
      growEpilogue(cluster);
  for (GatherOp gather : choices)
    joinProduct(gather);
  for (AnchorOpInterface anchor : anchors) {
    Cluster &cluster = *clusterOf[anchor];
    growPrologue(cluster, anchor.getPrologueOperands());
    growPrologue(cluster, getEpilogueOperands(cluster));
  }
  for (Operation *op : llvm::reverse(elementwise))
    if (!clusterOf.count(op))
      growPrologue(startCluster(op), llvm::to_vector(op->getOperands()));
}

SmallVector<Cluster *> Clustering::getClusters() {
  SmallVector<Cluster *> sorted;
  for (std::unique_ptr<Cluster> &cluster : clusters)
    sorted.push_back(cluster.get());
  auto before = [&](Operation *a, Operation *b) {
    return position.at(a) < position.at(b);
  };
  llvm::sort(sorted,
             [&](Cluster *a, Cluster *b) { return before(a->root, b->root); });
  for (Cluster *cluster : sorted)
    llvm::sort(cluster->ops, before);
  return sorted;
}

Cluster &Clustering::startCluster(Operation *op) {
  clusters.push_back(std::make_unique<Cluster>());
  Cluster &cluster = *clusters.back();
  cluster.root = op;
  if (isa<AnchorOpInterface>(op))
    cluster.anchor = op;
  join(cluster, op);
  return cluster;
}

void Clustering::join(Cluster &cluster, Operation *op) {
  cluster.ops.push_back(op);
  clusterOf[op] = &cluster;
  if (!cluster.plan)
    cluster.plan = op->getDiscardableAttr(ArkDialect::kPlanAttr);
}

/// Returns true if the elementwise `op`, which is in no cluster, may join a
/// cluster with result `root`.
bool Clustering::canJoin(Cluster &cluster, Operation *op, Operation *root) {
  return isa<ElementwiseOpInterface>(op) && !clusterOf.count(op) &&
         static_cast<int64_t>(cluster.ops.size()) < maxOps &&
         canMove(cluster, op, root);
}

/// Returns true if the plan of `op` is absent or equals the plan of the
/// cluster, and all ops that move to the position of `root` still read the same
/// values.
bool Clustering::canMove(Cluster &cluster, Operation *op, Operation *root) {
  Attribute plan = op->getDiscardableAttr(ArkDialect::kPlanAttr);
  if (plan && plan != cluster.plan)
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
      return update && update == cluster.anchor &&
             readsOwnElements(update, operand);
    });
  };
  return staysValid(op) && llvm::all_of(cluster.ops, staysValid);
}

/// Returns true if `op`, which has no plan, would make a pinned cluster wait
/// for a cluster with another pin. Pinned clusters are meant to run
/// concurrently, before `op`.
bool Clustering::waitsForAnotherPlan(Operation *op, const Cluster &cluster) {
  if (!cluster.plan)
    return false;
  SmallVector<Value> worklist(op->getOperands());
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *producer = getViewBase(worklist.pop_back_val()).getDefiningOp();
    if (!producer || clusterOf.lookup(producer) == &cluster ||
        !seen.insert(producer).second)
      continue;
    Attribute plan = producer->getDiscardableAttr(ArkDialect::kPlanAttr);
    if (plan && plan != cluster.plan)
      return true;
    // An op without a plan may become part of a cluster with a plan.
    if (!plan && isa<ElementwiseOpInterface>(producer))
      llvm::append_range(worklist, producer->getOperands());
  }
  return false;
}

void Clustering::growEpilogue(Cluster &cluster) {
  while (true) {
    Value result = cluster.root->getResult(0);
    llvm::SmallSetVector<Operation *, 4> users(result.user_begin(),
                                               result.user_end());
    if (users.size() != 1)
      return;
    Operation *user = users.front();
    if (!canJoin(cluster, user, user) || waitsForAnotherPlan(user, cluster) ||
        getShape(user->getResult(0)) != getShape(result))
      return;
    join(cluster, user);
    cluster.root = user;
  }
}

/// Adds a gather of matrices to the cluster of the product that multiplies by
/// them. The epilogue of this cluster is final.
void Clustering::joinProduct(GatherOp gather) {
  Cluster &cluster = *clusterOf[getProductOfGathered(gather)];
  if (canMove(cluster, gather, cluster.root))
    join(cluster, gather);
  else
    startCluster(gather);
}

void Clustering::growPrologue(Cluster &cluster, ArrayRef<Value> operands) {
  SmallVector<Value> worklist(operands);
  while (!worklist.empty()) {
    Value operand = worklist.pop_back_val();
    Operation *producer = operand.getDefiningOp();
    if (!producer || !canJoin(cluster, producer, cluster.root))
      continue;
    // All readers of the producer must be in this cluster, and no element but
    // that of a cast may be computed twice. The result shapes of other users
    // are not compared, because ops such as the return have no result.
    bool staysInside = llvm::all_of(producer->getUsers(), [&](Operation *user) {
      return clusterOf.lookup(user) == &cluster &&
             (isa<AnchorOpInterface>(user) || isa<CastOp>(producer) ||
              getShape(user->getResult(0)) == getShape(operand));
    });
    if (!staysInside)
      continue;
    join(cluster, producer);
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

  /// Builds the group of a cluster and replaces its result. The ops of the
  /// cluster stay in place without uses.
  GroupOp build(const Cluster &cluster);

private:
  std::string makeName(const Cluster &cluster);

  llvm::StringMap<unsigned> names;
};
} // namespace

std::string GroupBuilder::makeName(const Cluster &cluster) {
  Operation *op = cluster.anchor ? cluster.anchor : cluster.root;
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

GroupOp GroupBuilder::build(const Cluster &cluster) {
  llvm::SetVector<Value> inputs, splats, deps;
  llvm::SmallPtrSet<Operation *, 8> inside(cluster.ops.begin(),
                                           cluster.ops.end());
  for (Operation *op : cluster.ops)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (inside.contains(producer))
        continue;
      collectDeps(operand, cluster.root, deps);
      (getSplat(operand) ? splats : inputs).insert(operand);
    }
  inputs.insert(deps.begin(), deps.end());

  Operation *anchor = cluster.anchor ? cluster.anchor : cluster.root;
  OpBuilder builder(cluster.root);
  auto group = GroupOp::create(
      builder, anchor->getLoc(), cluster.root->getResultTypes(),
      builder.getStringAttr(makeName(cluster)), inputs.getArrayRef(),
      /*tile=*/nullptr, dyn_cast_or_null<DictionaryAttr>(cluster.plan));
  Block &body = group.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  for (Value splat : splats)
    builder.clone(*splat.getDefiningOp(), mapping);
  for (Operation *op : cluster.ops)
    // From here on, the group carries the plan.
    builder.clone(*op, mapping)->removeDiscardableAttr(ArkDialect::kPlanAttr);
  YieldOp::create(builder, cluster.root->getLoc(),
                  ValueRange{mapping.lookup(cluster.root->getResult(0))});
  cluster.root->getResult(0).replaceAllUsesWith(group.getResult(0));
  return group;
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
    Clustering clustering(program, maxOps);
    SmallVector<Cluster *> clusters = clustering.getClusters();
    GroupBuilder builder(program);
    for (Cluster *cluster : clusters) {
      builder.build(*cluster);
      ++numGroups;
      numFused += cluster->ops.size() - 1;
    }
    for (Cluster *cluster : llvm::reverse(clusters))
      for (Operation *op : llvm::reverse(cluster->ops))
        op->erase();
    removeIdentities(program);
    removeDeadOps(program);
  }
};
} // namespace
