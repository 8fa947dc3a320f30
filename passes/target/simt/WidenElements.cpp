//===- WidenElements.cpp - Vectorises loops over elements -----------------===//

#include "lib/support/DimIndices.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Alignment.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_WIDENELEMENTSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Candidate numbers of neighbours per thread.
static constexpr int64_t kCounts[] = {8, 4, 2};
/// The cost of the addresses, loads and stores of an iteration, in units of the
/// cost of one element.
static constexpr int64_t kOverhead = 3;
/// The largest distance of the elements that neighbours load one by one.
static constexpr int64_t kMaxNearbyStride = 2;

namespace {
/// A loop over elements, and its values that depend on the last variable.
class WideLoop {
public:
  WideLoop(scf::ParallelOp loop, int64_t threads)
      : loop(loop), threads(threads), builder(loop),
        variable(loop.getInductionVars().back()) {}

  /// Returns true if the loop was replaced.
  bool run();

private:
  bool isElementLoop();
  bool addBlock(Block &block);
  bool addInnerLoop(scf::ForOp inner);
  bool addBranch(scf::IfOp branch);
  bool isDependent(Value value) const { return dependent.contains(value); }
  bool isContiguous(Value buffer, ValueRange indices, int64_t count) const;
  std::optional<int64_t> getFactorOfVariable(Value index) const;
  bool isNearby(memref::LoadOp load) const;
  bool isWide(memref::LoadOp load, int64_t count) const;
  bool isCoalesced(int64_t count);
  bool storesWholeSectors(int64_t count);
  bool fits(int64_t count);
  int64_t choose();
  void widen(int64_t count);
  void widenOp(Operation &op, MutableArrayRef<IRMapping> mappings);
  void widenStore(memref::StoreOp store, MutableArrayRef<IRMapping> mappings);
  void widenInnerLoop(scf::ForOp inner, MutableArrayRef<IRMapping> mappings);
  void widenBranch(scf::IfOp branch, MutableArrayRef<IRMapping> mappings);

  scf::ParallelOp loop;
  int64_t threads;
  OpBuilder builder;
  Value variable;
  int64_t extent = 0;
  llvm::DenseSet<Value> dependent;
  /// The loads and stores, also those of inner loops.
  SmallVector<Operation *> accesses;
};
} // namespace

/// Returns true if a loop consists of loads, stores, ops without effects, and
/// inner loops and branches of such ops, and has a constant extent. Collects
/// the accesses, and the values that depend on the last variable.
bool WideLoop::isElementLoop() {
  unsigned dim = loop.getNumLoops() - 1;
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound()[dim]);
  if (!end || !isConstantIntValue(loop.getLowerBound()[dim], 0) ||
      !isConstantIntValue(loop.getStep()[dim], 1))
    return false;
  extent = *end;
  dependent.insert(variable);
  return addBlock(*loop.getBody()) &&
         llvm::any_of(accesses, llvm::IsaPred<memref::StoreOp>);
}

/// Adds the accesses and dependent values of a block. Returns false if it has
/// other effects.
bool WideLoop::addBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      if (!addInnerLoop(inner))
        return false;
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (!addBranch(branch))
        return false;
      continue;
    }
    bool isMemory = isa<memref::LoadOp, memref::StoreOp>(op);
    if (op.getNumRegions() != 0 || (!isMemory && !isMemoryEffectFree(&op)))
      return false;
    if (isMemory)
      accesses.push_back(&op);
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return isDependent(operand); }))
      dependent.insert(op.result_begin(), op.result_end());
  }
  return true;
}

/// Returns true if an op in the loop stores, also in branches and loops.
static bool stores(scf::ForOp inner) {
  return inner.walk([](memref::StoreOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Adds a loop that has equally many iterations for all neighbours, and stores
/// nothing.
bool WideLoop::addInnerLoop(scf::ForOp inner) {
  if (isDependent(inner.getLowerBound()) ||
      isDependent(inner.getUpperBound()) || isDependent(inner.getStep()) ||
      stores(inner))
    return false;
  dependent.insert(inner.getRegionIterArgs().begin(),
                   inner.getRegionIterArgs().end());
  dependent.insert(inner.result_begin(), inner.result_end());
  return addBlock(*inner.getBody());
}

/// Adds a branch that all neighbours take or skip together, such as the store
/// of a row that the last vCTA may not have.
bool WideLoop::addBranch(scf::IfOp branch) {
  return !isDependent(branch.getCondition()) && branch.getNumResults() == 0 &&
         branch.getElseRegion().empty() && addBlock(*branch.thenBlock());
}

/// Returns true if `count` neighbours along the variable are contiguous in
/// memory and aligned for one access.
bool WideLoop::isContiguous(Value buffer, ValueRange indices,
                            int64_t count) const {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = type.getElementType();
  bool isWord = element.isBF16() || element.isF16() || element.isF32() ||
                element.isInteger(8) || element.isInteger(32);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!isWord || indices.empty() || indices.back() != variable ||
      isDependent(buffer) ||
      llvm::any_of(indices.drop_back(),
                   [&](Value index) { return isDependent(index); }) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  int64_t bytes = std::min(kLoadBytes, count * getElementBytes(element));
  return getAlignment(buffer, indices, count) >= bytes;
}

/// Returns the factor of a variable in an expression that is linear in the
/// operands that depend on the variable, or nothing for other expressions.
/// `getFactor` returns the factor of the variable in an operand.
static std::optional<int64_t> getFactor(
    AffineExpr expr, unsigned numDims,
    llvm::function_ref<std::optional<int64_t>(unsigned)> getOperandFactor) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getOperandFactor(dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return getOperandFactor(numDims + symbol.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0; // a constant
  std::optional<int64_t> left =
      getFactor(binary.getLHS(), numDims, getOperandFactor);
  std::optional<int64_t> right =
      getFactor(binary.getRHS(), numDims, getOperandFactor);
  if (!left || !right)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return *left + *right;
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Mul && constant)
    return *left * constant.getValue();
  return *left == 0 && *right == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

/// Returns the factor of the last variable in an index that is linear in it, or
/// nothing for other indices.
std::optional<int64_t> WideLoop::getFactorOfVariable(Value index) const {
  if (index == variable)
    return 1;
  if (!isDependent(index))
    return 0;
  auto apply = index.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return std::nullopt;
  AffineMap map = apply.getAffineMap();
  return getFactor(map.getResult(0), map.getNumDims(), [&](unsigned operand) {
    return getFactorOfVariable(apply.getMapOperands()[operand]);
  });
}

/// Returns true if the elements of neighbours are at most kMaxNearbyStride
/// elements apart. Each element is then loaded by itself: the loads of a thread
/// are in flight at once, and those of a warp hit the same lines.
bool WideLoop::isNearby(memref::LoadOp load) const {
  SmallVector<int64_t> strides;
  int64_t offset;
  OperandRange indices = load.getIndices();
  if (indices.empty() || isDependent(load.getMemRef()) ||
      llvm::any_of(indices.drop_back(),
                   [&](Value index) { return isDependent(index); }) ||
      failed(load.getMemRefType().getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return false;
  std::optional<int64_t> factor = getFactorOfVariable(indices.back());
  return factor && *factor >= 1 && *factor <= kMaxNearbyStride;
}

/// Returns true if one access loads the elements of `count` neighbours.
bool WideLoop::isWide(memref::LoadOp load, int64_t count) const {
  return isContiguous(load.getMemRef(), load.getIndices(), count);
}

/// Returns true if neighbouring threads access neighbouring bytes, although one
/// instruction accesses at most 16 bytes.
bool WideLoop::isCoalesced(int64_t count) {
  return llvm::all_of(accesses, [&](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    auto store = dyn_cast<memref::StoreOp>(op);
    if (load && !isDependent(load))
      return true;
    MemRefType type = load ? load.getMemRefType() : store.getMemRefType();
    return count * getElementBytes(type.getElementType()) <= kLoadBytes;
  });
}

/// Returns true if the stores of a warp to global memory fill whole sectors. A
/// thread with more than 16 bytes needs several instructions, each of which
/// would store a half of every sector.
bool WideLoop::storesWholeSectors(int64_t count) {
  return llvm::all_of(accesses, [&](Operation *op) {
    auto store = dyn_cast<memref::StoreOp>(op);
    if (!store || getRoot(store.getMemRef()).getDefiningOp<memref::AllocaOp>())
      return true;
    Type element = store.getMemRefType().getElementType();
    return count * getElementBytes(element) <= kLoadBytes;
  });
}

bool WideLoop::fits(int64_t count) {
  if (extent % count != 0)
    return false;
  return llvm::all_of(accesses, [&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return !isDependent(load) || isWide(load, count) || isNearby(load);
    auto store = cast<memref::StoreOp>(op);
    return !arePackets(store.getMemRef()) &&
           isContiguous(store.getMemRef(), store.getIndices(), count);
  });
}

/// Chooses the number of neighbours that needs the fewest iterations of every
/// thread. If the number of vCTAs is known at run time only, the loop has at
/// least one vCTA. Memory limits such a loop, so its accesses should be
/// coalesced.
int64_t WideLoop::choose() {
  std::optional<int64_t> bound = getSizeBound(loop);
  int64_t size = bound.value_or(getStaticSize(loop));
  auto getCost = [&](int64_t count) {
    return llvm::divideCeil(size / count, threads) * (count + kOverhead);
  };
  int64_t best = 1;
  for (int64_t count : kCounts)
    if (getCost(count) < getCost(best) && fits(count) &&
        (bound ? storesWholeSectors(count) : isCoalesced(count)))
      best = count;
  return best;
}

void WideLoop::widenStore(memref::StoreOp store,
                          MutableArrayRef<IRMapping> mappings) {
  IRMapping &first = mappings.front();
  auto map = [&](Value value) { return first.lookupOrDefault(value); };
  int64_t count = mappings.size();
  SmallVector<Value> elements;
  for (IRMapping &mapping : mappings)
    elements.push_back(mapping.lookupOrDefault(store.getValueToStore()));
  Type element = store.getMemRefType().getElementType();
  Value vector = vector::FromElementsOp::create(
      builder, store.getLoc(), VectorType::get({count}, element), elements);
  SmallVector<Value> indices = llvm::map_to_vector(store.getIndices(), map);
  int64_t bytes = std::min(kLoadBytes, count * getElementBytes(element));
  vector::StoreOp::create(builder, store.getLoc(), vector,
                          map(store.getMemRef()), indices,
                          /*nontemporal=*/false, llvm::MaybeAlign(bytes));
}

/// Creates one loop that carries the values of all neighbours.
void WideLoop::widenInnerLoop(scf::ForOp inner,
                              MutableArrayRef<IRMapping> mappings) {
  IRMapping &first = mappings.front();
  auto collect = [&](ValueRange values) {
    SmallVector<Value> all;
    for (Value value : values)
      for (IRMapping &mapping : mappings)
        all.push_back(mapping.lookupOrDefault(value));
    return all;
  };
  auto assign = [&](ValueRange values, ValueRange all) {
    for (auto [i, value] : llvm::enumerate(values))
      for (auto [k, mapping] : llvm::enumerate(mappings))
        mapping.map(value, all[i * mappings.size() + k]);
  };
  auto wide = scf::ForOp::create(
      builder, inner.getLoc(), first.lookupOrDefault(inner.getLowerBound()),
      first.lookupOrDefault(inner.getUpperBound()),
      first.lookupOrDefault(inner.getStep()), collect(inner.getInitArgs()));
  wide->setDiscardableAttrs(inner->getDiscardableAttrDictionary());
  for (IRMapping &mapping : mappings)
    mapping.map(inner.getInductionVar(), wide.getInductionVar());
  assign(inner.getRegionIterArgs(), wide.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(wide.getBody());
  for (Operation &op : inner.getBody()->without_terminator())
    widenOp(op, mappings);
  Operation *yield = inner.getBody()->getTerminator();
  SmallVector<Value> yielded = collect(yield->getOperands());
  // The builder of a loop without results has already added a terminator.
  if (!yielded.empty())
    scf::YieldOp::create(builder, yield->getLoc(), yielded);
  assign(inner.getResults(), wide.getResults());
}

void WideLoop::widenBranch(scf::IfOp branch,
                           MutableArrayRef<IRMapping> mappings) {
  auto wide =
      scf::IfOp::create(builder, branch.getLoc(),
                        mappings.front().lookupOrDefault(branch.getCondition()),
                        /*withElseRegion=*/false);
  wide->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(wide.thenBlock());
  for (Operation &op : branch.thenBlock()->without_terminator())
    widenOp(op, mappings);
}

void WideLoop::widenOp(Operation &op, MutableArrayRef<IRMapping> mappings) {
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return widenStore(store, mappings);
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return widenInnerLoop(inner, mappings);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return widenBranch(branch, mappings);
  IRMapping &first = mappings.front();
  auto map = [&](Value value) { return first.lookupOrDefault(value); };
  int64_t count = mappings.size();
  bool isShared = llvm::none_of(
      op.getOperands(), [&](Value operand) { return isDependent(operand); });
  if (isShared) {
    Operation *clone = builder.clone(op, first);
    for (IRMapping &mapping : mappings.drop_front())
      mapping.map(op.getResults(), clone->getResults());
    return;
  }
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load || !isWide(load, count)) {
    for (IRMapping &mapping : mappings)
      builder.clone(op, mapping);
    return;
  }
  SmallVector<Value> indices = llvm::map_to_vector(load.getIndices(), map);
  Value vector =
      createWideLoad(builder, load, map(load.getMemRef()), indices, count);
  for (auto [i, mapping] : llvm::enumerate(mappings))
    mapping.map(load.getResult(),
                vector::ExtractOp::create(builder, load.getLoc(), vector, i));
}

void WideLoop::widen(int64_t count) {
  Location loc = loop.getLoc();
  SmallVector<Value> ends(loop.getUpperBound());
  ends.back() = arith::ConstantIndexOp::create(builder, loc, extent / count);
  auto wide = scf::ParallelOp::create(builder, loc, loop.getLowerBound(), ends,
                                      loop.getStep());
  builder.setInsertionPointToStart(wide.getBody());
  SmallVector<Value> variables = wide.getInductionVars();
  Value first = arith::MulIOp::create(
      builder, loc, variables.back(),
      arith::ConstantIndexOp::create(builder, loc, count));
  SmallVector<IRMapping> mappings(count);
  for (auto [i, mapping] : llvm::enumerate(mappings)) {
    variables.back() = first;
    if (i > 0)
      variables.back() = arith::AddIOp::create(
          builder, loc, first, arith::ConstantIndexOp::create(builder, loc, i));
    mapping.map(loop.getInductionVars(), variables);
  }
  for (Operation &op : loop.getBody()->without_terminator())
    widenOp(op, mappings);
  loop.erase();
}

bool WideLoop::run() {
  if (loop.getNumReductions() != 0 || !isElementLoop())
    return false;
  int64_t count = choose();
  if (count > 1)
    widen(count);
  return count > 1;
}

namespace {
struct WidenElementsPass : ark::impl::WidenElementsPassBase<WidenElementsPass> {
  using WidenElementsPassBase::WidenElementsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    WidenElementsPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<scf::ParallelOp> loops;
      body.walk([&](scf::ParallelOp loop) {
        if (!loop->getParentOfType<scf::ParallelOp>() &&
            !loop->getParentOfType<scf::ForallOp>())
          loops.push_back(loop);
      });
      for (scf::ParallelOp loop : loops)
        numLoops += WideLoop(loop, threads).run();
    }
  }
};
} // namespace
