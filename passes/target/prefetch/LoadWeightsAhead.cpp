//===- LoadWeightsAhead.cpp - Loads weights one step ahead ----------------===//

#include "passes/target/prefetch/Passes.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/tables/KernelTables.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOADWEIGHTSAHEADPASS
#include "passes/target/prefetch/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns true if a loop has an iteration for all values of its bounds: the
/// upper bound is the lower bound plus a positive constant, or both are
/// constants.
static bool hasIteration(scf::ForOp loop) {
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  if (begin && end)
    return *begin < *end;
  auto sum = loop.getUpperBound().getDefiningOp<arith::AddIOp>();
  std::optional<int64_t> distance =
      sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
  return distance && *distance > 0 && sum.getLhs() == loop.getLowerBound();
}

namespace {
/// A loop over the rows of a thread, and a loop along a row in it, which loads
/// weights.
class WeightLoop {
public:
  WeightLoop(scf::ForOp rows, scf::ForOp depth,
             SmallVector<vector::LoadOp> loads)
      : rows(rows), depth(depth), loads(std::move(loads)) {}

  /// Returns true if the addresses of the loads depend on nothing but the
  /// variables of the loops and values from before them, and if these values
  /// can be computed where the body begins.
  bool match();
  /// Loads the weights of each step in the step before. Returns the new loop
  /// over rows.
  scf::ForOp run();

private:
  bool collect(Value value);
  bool isKnown(Value value);
  Value cloneAt(OpBuilder &builder, Value value, IRMapping &mapping);
  SmallVector<Value> loadAt(ImplicitLocOpBuilder &builder, IRMapping &mapping);
  SmallVector<Value> loadFirst();
  SmallVector<Value> loadNext(ValueRange current);

  scf::ForOp rows, depth;
  SmallVector<vector::LoadOp> loads;
  /// The ops that compute addresses and bounds, in the order of the program.
  SetVector<Operation *> slice;
};
} // namespace

/// Adds the ops that compute a value to the slice. Returns false if one of them
/// accesses memory or has regions.
bool WeightLoop::collect(Value value) {
  if (isa<BlockArgument>(value))
    return true;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  SetVector<Operation *> own;
  if (failed(getBackwardSlice(value, &own, options)))
    return false;
  slice.insert(own.begin(), own.end());
  return llvm::all_of(own, [](Operation *op) {
    return isMemoryEffectFree(op) && op->getNumRegions() == 0;
  });
}

bool WeightLoop::match() {
  if (!hasIteration(depth))
    return false;
  SmallVector<Value> values = {rows.getLowerBound(),  rows.getUpperBound(),
                               rows.getStep(),        depth.getLowerBound(),
                               depth.getUpperBound(), depth.getStep()};
  for (vector::LoadOp load : loads)
    llvm::append_range(values, load->getOperands());
  if (!llvm::all_of(values, [&](Value value) { return collect(value); }))
    return false;
  slice = topologicalSort(slice);
  for (Operation *op : slice)
    llvm::append_range(values, op->getOperands());
  return llvm::all_of(values, [&](Value value) { return isKnown(value); });
}

/// Returns true unless a loop carries a value, such as a sum.
bool WeightLoop::isKnown(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return !argument || argument == rows.getInductionVar() ||
         argument == depth.getInductionVar() ||
         isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

/// Clones the ops that compute `value`, unless `mapping` has their results.
Value WeightLoop::cloneAt(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (isa<BlockArgument>(value))
    return mapping.lookupOrDefault(value);
  SetVector<Operation *> own;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return slice.contains(op) && !mapping.contains(op->getResult(0));
  };
  (void)getBackwardSlice(value, &own, options);
  for (Operation *op : topologicalSort(own))
    builder.clone(*op, mapping);
  return mapping.lookupOrDefault(value);
}

/// Loads the weights at the step that `mapping` states. Other rows have other
/// weights, so caches need not keep them.
SmallVector<Value> WeightLoop::loadAt(ImplicitLocOpBuilder &builder,
                                      IRMapping &mapping) {
  SmallVector<Value> loaded;
  for (vector::LoadOp load : loads) {
    for (Value operand : load->getOperands())
      (void)cloneAt(builder, operand, mapping);
    auto clone = cast<vector::LoadOp>(builder.clone(*load, mapping));
    clone.setNontemporal(true);
    loaded.push_back(clone.getResult());
  }
  return loaded;
}

static SmallVector<Type> getTypes(ArrayRef<vector::LoadOp> loads) {
  return llvm::map_to_vector(
      loads, [](vector::LoadOp load) -> Type { return load.getType(); });
}

/// Loads the weights of the first step where the body begins. Threads without a
/// row load nothing.
SmallVector<Value> WeightLoop::loadFirst() {
  auto body = rows->getParentOfType<func::FuncOp>();
  ImplicitLocOpBuilder builder(rows.getLoc(), rows);
  builder.setInsertionPointToStart(&body.getBody().front());
  IRMapping mapping;
  Value first = cloneAt(builder, rows.getLowerBound(), mapping);
  Value end = cloneAt(builder, rows.getUpperBound(), mapping);
  Value hasRow =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, end);
  auto branch = scf::IfOp::create(builder, getTypes(loads), hasRow,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  mapping.map(rows.getInductionVar(), first);
  mapping.map(depth.getInductionVar(),
              cloneAt(builder, depth.getLowerBound(), mapping));
  scf::YieldOp::create(builder, loadAt(builder, mapping));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(
      builder, llvm::map_to_vector(loads, [&](vector::LoadOp load) -> Value {
        return arith::ConstantOp::create(builder,
                                         builder.getZeroAttr(load.getType()));
      }));
  return SmallVector<Value>(branch.getResults());
}

/// Loads the weights of the next step, which is the first step of the next row
/// after the last step of a row. Returns `current` after the last row.
SmallVector<Value> WeightLoop::loadNext(ValueRange current) {
  Value row = rows.getInductionVar(), step = depth.getInductionVar();
  // Loads of the activations come first, since loads return in order.
  Operation *last = loads.back();
  for (auto load : depth.getBody()->getOps<vector::LoadOp>())
    if (last->isBeforeInBlock(load))
      last = load;
  ImplicitLocOpBuilder builder(depth.getLoc(), depth);
  builder.setInsertionPointAfter(last);
  Value nextStep = arith::AddIOp::create(builder, step, depth.getStep());
  Value nextRow = arith::AddIOp::create(builder, row, rows.getStep());
  Value staysInRow = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt,
                                           nextStep, depth.getUpperBound());
  Value hasRow = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt,
                                       nextRow, rows.getUpperBound());
  Value hasNext = arith::OrIOp::create(builder, staysInRow, hasRow);
  auto branch = scf::IfOp::create(builder, getTypes(loads), hasNext,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  IRMapping mapping;
  mapping.map(
      row,
      arith::SelectOp::create(builder, staysInRow, row, nextRow).getResult());
  // Values from before the rows keep their definitions.
  for (Operation *op : slice)
    if (!rows->isProperAncestor(op))
      for (Value result : op->getResults())
        mapping.map(result, result);
  Value begin = cloneAt(builder, depth.getLowerBound(), mapping);
  mapping.map(step,
              arith::SelectOp::create(builder, staysInRow, nextStep, begin)
                  .getResult());
  scf::YieldOp::create(builder, loadAt(builder, mapping));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, current);
  return SmallVector<Value>(branch.getResults());
}

/// Replaces a loop by one that also carries `inits`, and does not change them.
static scf::ForOp carry(scf::ForOp loop, ValueRange inits) {
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  auto yield = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return SmallVector<Value>(arguments.begin(), arguments.end());
  };
  FailureOr<LoopLikeOpInterface> result =
      cast<LoopLikeOpInterface>(loop.getOperation())
          .replaceWithAdditionalYields(rewriter, inits,
                                       /*replaceInitOperandUsesInLoop=*/false,
                                       yield);
  return cast<scf::ForOp>(result->getOperation());
}

scf::ForOp WeightLoop::run() {
  SmallVector<Value> first = loadFirst();
  rows = carry(rows, first);
  size_t count = loads.size();
  depth = cast<scf::ForOp>(loads.front()->getParentOp());
  ValueRange atRow = ValueRange(rows.getRegionIterArgs()).take_back(count);
  depth = carry(depth, atRow);
  ValueRange current = ValueRange(depth.getRegionIterArgs()).take_back(count);
  SmallVector<Value> next = loadNext(current);
  Operation *end = depth.getBody()->getTerminator();
  end->setOperands(end->getNumOperands() - count, count, next);
  Operation *endOfRow = rows.getBody()->getTerminator();
  endOfRow->setOperands(endOfRow->getNumOperands() - count, count,
                        depth.getResults().take_back(count));
  for (auto [load, value] : llvm::zip_equal(loads, current)) {
    load.replaceAllUsesWith(value);
    load.erase();
  }
  return rows;
}

namespace {
struct LoadWeightsAheadPass
    : ark::impl::LoadWeightsAheadPassBase<LoadWeightsAheadPass> {
  using LoadWeightsAheadPassBase::LoadWeightsAheadPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      for (func::FuncOp body : getBodies(getOperation()))
        run(kernel, body);
  }

private:
  void run(KernelOp kernel, func::FuncOp body);
  SmallVector<vector::LoadOp> findLoads(KernelOp kernel, func::FuncOp body,
                                        scf::ForOp rows, scf::ForOp depth);
};
} // namespace

/// Returns true if ops compute `value` from `variable`.
static bool dependsOn(Value value, Value variable) {
  if (value == variable)
    return true;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  SetVector<Operation *> slice;
  if (!isa<BlockArgument>(value))
    (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    return llvm::is_contained(op->getOperands(), variable);
  });
}

/// Returns true if the address of a load depends on the row: directly, or by
/// the bounds of the loop along the row.
static bool dependsOnRow(vector::LoadOp load, scf::ForOp rows,
                         scf::ForOp depth) {
  Value row = rows.getInductionVar(), step = depth.getInductionVar();
  return llvm::any_of(load->getOperands(), [&](Value operand) {
    return dependsOn(operand, row) ||
           (dependsOn(operand, step) && dependsOn(depth.getLowerBound(), row));
  });
}

/// Returns the loads of weights in a loop along a row, if their values fit into
/// the registers of a thread. Weights that all rows share remain: caches should
/// keep them.
SmallVector<vector::LoadOp> LoadWeightsAheadPass::findLoads(KernelOp kernel,
                                                            func::FuncOp body,
                                                            scf::ForOp rows,
                                                            scf::ForOp depth) {
  SmallVector<vector::LoadOp> loads;
  int64_t bits = 0;
  for (auto load : depth.getBody()->getOps<vector::LoadOp>()) {
    auto argument = dyn_cast<BlockArgument>(getRoot(load.getBase()));
    if (!argument || argument.getOwner() != &body.getBody().front() ||
        !isParameter(kernel, body, argument) ||
        !dependsOnRow(load, rows, depth))
      continue;
    loads.push_back(load);
    bits += load.getVectorType().getNumElements() *
            load.getVectorType().getElementTypeBitWidth();
  }
  if (bits > 32 * maxRegisters)
    loads.clear();
  return loads;
}

/// Rewrites the first loop over rows that loads weights along rows. Later loops
/// of a body follow a barrier, and would keep registers until then.
void LoadWeightsAheadPass::run(KernelOp kernel, func::FuncOp body) {
  for (auto rows : body.getBody().front().getOps<scf::ForOp>())
    for (auto depth : rows.getBody()->getOps<scf::ForOp>()) {
      SmallVector<vector::LoadOp> loads = findLoads(kernel, body, rows, depth);
      if (loads.empty())
        continue;
      WeightLoop loop(rows, depth, loads);
      if (!loop.match())
        continue;
      (void)loop.run();
      numAhead += loads.size();
      return;
    }
}
