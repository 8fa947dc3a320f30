//===- UnrollAndJam.cpp - Unroll-and-jam of reductions --------------------===//

#include "lib/support/DimIndices.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::ark {
#define GEN_PASS_DEF_UNROLLANDJAMPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the results that a thread accumulates at once.
static constexpr int64_t kMaxResults = 8;
/// Upper bound of the results that share a load, if another load serves several
/// results.
static constexpr int64_t kMaxSharing = 4;
/// Number of results along a dimension of dynamic extent.
static constexpr int64_t kMaxUnknown = 2;
/// A dynamic dimension with a smaller bound is not jammed.
static constexpr int64_t kMinUnknown = 128;

//===----------------------------------------------------------------------===//
// Choice of the dimension
//===----------------------------------------------------------------------===//

static SmallVector<scf::ParallelOp> getReductions(scf::ParallelOp loop) {
  SmallVector<scf::ParallelOp> reductions;
  for (auto inner : loop.getBody()->getOps<scf::ParallelOp>())
    reductions.push_back(inner);
  return reductions;
}

/// Returns the upper bound of the results of a reduction in one iteration.
static int64_t countResults(scf::ParallelOp loop) {
  int64_t count = 1;
  for (scf::ParallelOp reduction : getReductions(loop))
    count = std::max<int64_t>(count, reduction.getNumReductions());
  return count;
}

/// Returns the extent of a dimension if its iterations are [0, extent).
static std::optional<int64_t> getExtent(scf::ParallelOp loop, unsigned dim) {
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound()[dim]);
  bool isPlain = isConstantIntValue(loop.getLowerBound()[dim], 0) &&
                 isConstantIntValue(loop.getStep()[dim], 1);
  return isPlain ? end : std::nullopt;
}

/// Returns true if `value` depends on `source`, a variable of a loop.
static bool dependsOn(Value value, Value source) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  // Ops in nested loops, such as a reduction, may depend on `source` as well.
  return op && source.getParentRegion()->isAncestor(op->getParentRegion()) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, source);
         });
}

namespace {
/// A dimension of a parallel loop, and the number of its iterations to combine.
struct Jam {
  unsigned dim;
  int64_t count;
  /// True if the iterations access neighbouring elements, which one load
  /// fetches.
  bool isContiguous = false;
  /// True if the last group may have fewer iterations.
  bool isRagged = false;
};
} // namespace

/// Returns true if one load fetches the elements of `count` neighbours along
/// `variable`.
static bool isContiguousIn(memref::LoadOp load, Value variable, int64_t count) {
  auto isFixed = [&](Value value) { return !dependsOn(value, variable); };
  return count * getBytes(load) <= kLoadBytes &&
         loadsNeighbours(load, variable, isFixed) && isAlignedFor(load, count);
}

/// Returns true if reductions have the same length for all values of
/// `variable`.
static bool haveSameBounds(scf::ParallelOp loop, Value variable) {
  return llvm::all_of(getReductions(loop), [&](scf::ParallelOp reduction) {
    return llvm::none_of(reduction->getOperands(), [&](Value bound) {
      return dependsOn(bound, variable);
    });
  });
}

/// Returns a jam of the last dimension with at most `most` results, so that one
/// load fetches their elements.
static std::optional<Jam> findContiguous(scf::ParallelOp loop, int64_t most) {
  unsigned dim = loop.getNumLoops() - 1;
  Value variable = loop.getInductionVars()[dim];
  std::optional<int64_t> extent = getExtent(loop, dim);
  if (!extent || !haveSameBounds(loop, variable))
    return std::nullopt;
  for (scf::ParallelOp reduction : getReductions(loop))
    for (auto load : reduction.getBody()->getOps<memref::LoadOp>()) {
      int64_t count = std::min(kLoadBytes / getBytes(load), most);
      if (count > 1 && *extent % count == 0 &&
          isContiguousIn(load, variable, count))
        return Jam{dim, count, /*isContiguous=*/true};
    }
  return std::nullopt;
}

/// Returns true if some, but not all, loads of a reduction depend on
/// `variable`.
static bool sharesLoads(scf::ParallelOp loop, Value variable) {
  return llvm::any_of(getReductions(loop), [&](scf::ParallelOp reduction) {
    unsigned loads = 0, dependent = 0;
    for (auto load : reduction.getBody()->getOps<memref::LoadOp>()) {
      ++loads;
      dependent += llvm::any_of(load->getOperands(), [&](Value operand) {
        return dependsOn(operand, variable);
      });
    }
    return dependent > 0 && dependent < loads;
  });
}

/// Returns true if no reduction has a constant length.
static bool hasUnknownLength(scf::ParallelOp loop) {
  return llvm::all_of(getReductions(loop), [](scf::ParallelOp reduction) {
    return llvm::any_of(reduction.getUpperBound(),
                        [](Value end) { return !getConstantIntValue(end); });
  });
}

/// Returns a jam of a dimension on which only some loads depend.
static std::optional<Jam> findReused(scf::ParallelOp loop) {
  for (unsigned dim = 0; dim < loop.getNumLoops(); ++dim) {
    std::optional<int64_t> extent = getExtent(loop, dim);
    if (!extent || *extent < 2)
      continue;
    int64_t count = std::min(*extent, kMaxResults);
    while (*extent % count != 0)
      --count;
    Value variable = loop.getInductionVars()[dim];
    // The last dimension has to occupy the threads.
    if (count > 1 && dim + 1 < loop.getNumLoops() &&
        sharesLoads(loop, variable) && haveSameBounds(loop, variable))
      return Jam{dim, count};
  }
  return std::nullopt;
}

/// Returns a jam of the last dimension if its extent has no small bound, such
/// as the keys of a cache.
static std::optional<Jam> findUnknown(scf::ParallelOp loop) {
  unsigned dim = loop.getNumLoops() - 1;
  Value variable = loop.getInductionVars()[dim];
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, loop.getUpperBound()[dim],
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  bool isLong = failed(bound) || *bound > kMinUnknown;
  if (!isConstantIntValue(loop.getLowerBound()[dim], 0) ||
      !isConstantIntValue(loop.getStep()[dim], 1) ||
      getConstantIntValue(loop.getUpperBound()[dim]) || !isLong ||
      !sharesLoads(loop, variable) || !haveSameBounds(loop, variable))
    return std::nullopt;
  Jam jam{dim, kMaxUnknown};
  jam.isRagged = true;
  return jam;
}

/// Returns true if a loop consists of reductions, of ops that may be repeated,
/// and of stores after them.
static bool canRepeat(scf::ParallelOp loop) {
  bool hasReduction = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto reduction = dyn_cast<scf::ParallelOp>(op);
    if (reduction && reduction.getNumReductions() == 0)
      return false;
    hasReduction |= static_cast<bool>(reduction);
    if (!reduction && !isMemoryEffectFree(&op) &&
        !isa<memref::LoadOp, memref::StoreOp, scf::IfOp>(op))
      return false;
  }
  return hasReduction;
}

//===----------------------------------------------------------------------===//
// Jamming
//===----------------------------------------------------------------------===//

namespace {
/// Rewrites a loop so that one iteration replaces several iterations.
class Jammer {
public:
  Jammer(scf::ParallelOp loop, Jam jam)
      : loop(loop), jam(jam), builder(loop), mappings(jam.count) {}

  /// Returns the new loop.
  scf::ParallelOp run();

private:
  scf::ParallelOp createLoop();
  void cloneOp(Operation &op);
  void cloneReduction(scf::ParallelOp reduction);
  void cloneBody(scf::ParallelOp reduction, scf::ParallelOp jammed);
  bool loadVector(Operation &op, MutableArrayRef<IRMapping> inner);

  scf::ParallelOp loop;
  Jam jam;
  OpBuilder builder;
  /// One mapping per combined iteration.
  SmallVector<IRMapping> mappings;
  /// An i1 per mapping that is true if the iteration exists; null if it always
  /// exists.
  SmallVector<Value> exists;
};
} // namespace

/// Creates a loop with fewer iterations along one dimension, and moves the
/// builder inside. An iteration beyond the end repeats the first one of its
/// group.
scf::ParallelOp Jammer::createLoop() {
  Location loc = loop.getLoc();
  SmallVector<Value> ends(loop.getUpperBound());
  Value end = ends[jam.dim];
  Value count = arith::ConstantIndexOp::create(builder, loc, jam.count);
  ends[jam.dim] = builder.createOrFold<arith::CeilDivUIOp>(loc, end, count);
  auto jammed = scf::ParallelOp::create(builder, loc, loop.getLowerBound(),
                                        ends, loop.getStep());
  builder.setInsertionPointToStart(jammed.getBody());
  SmallVector<Value> variables = jammed.getInductionVars();
  Value first = arith::MulIOp::create(builder, loc, variables[jam.dim], count);
  for (auto [i, mapping] : llvm::enumerate(mappings)) {
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    Value next = arith::AddIOp::create(builder, loc, first, offset);
    exists.push_back({});
    if (jam.isRagged && i > 0) {
      exists.back() = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, next, end);
      next = arith::SelectOp::create(builder, loc, exists.back(), next, first);
    }
    variables[jam.dim] = next;
    mapping.map(loop.getInductionVars(), variables);
  }
  return jammed;
}

void Jammer::cloneOp(Operation &op) {
  if (auto reduction = dyn_cast<scf::ParallelOp>(op))
    return cloneReduction(reduction);
  bool writes = !isMemoryEffectFree(&op) && !isa<memref::LoadOp>(op);
  for (auto [mapping, iterationExists] : llvm::zip(mappings, exists)) {
    if (!writes || !iterationExists) {
      builder.clone(op, mapping);
      continue;
    }
    auto branch = scf::IfOp::create(builder, op.getLoc(), iterationExists,
                                    /*withElseRegion=*/false);
    OpBuilder inside = OpBuilder::atBlockTerminator(branch.thenBlock());
    inside.clone(op, mapping);
  }
}

/// Creates one load for all results if their elements are neighbours. Returns
/// true if a load was created.
bool Jammer::loadVector(Operation &op, MutableArrayRef<IRMapping> inner) {
  auto load = dyn_cast<memref::LoadOp>(op);
  Value variable = loop.getInductionVars()[jam.dim];
  if (!load || !jam.isContiguous || !isContiguousIn(load, variable, jam.count))
    return false;
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(inner.front().lookupOrDefault(index));
  Value vector = createWideLoad(builder, load,
                                inner.front().lookupOrDefault(load.getMemRef()),
                                indices, jam.count);
  for (auto [i, mapping] : llvm::enumerate(inner))
    mapping.map(load.getResult(),
                vector::ExtractOp::create(builder, load.getLoc(), vector, i));
  return true;
}

void Jammer::cloneBody(scf::ParallelOp reduction, scf::ParallelOp jammed) {
  SmallVector<IRMapping> inner(mappings);
  for (IRMapping &mapping : inner)
    mapping.map(reduction.getInductionVars(), jammed.getInductionVars());
  builder.setInsertionPointToStart(jammed.getBody());
  for (Operation &op : reduction.getBody()->without_terminator())
    if (!loadVector(op, inner))
      for (IRMapping &mapping : inner)
        builder.clone(op, mapping);
  auto terminator = cast<scf::ReduceOp>(reduction.getBody()->getTerminator());
  SmallVector<Value> values;
  for (IRMapping &mapping : inner)
    for (Value value : terminator.getOperands())
      values.push_back(mapping.lookupOrDefault(value));
  auto reduce = scf::ReduceOp::create(builder, reduction.getLoc(), values);
  for (auto [i, region] : llvm::enumerate(reduce.getReductions())) {
    Block &block = region.front();
    // The combiner may use values of its own iteration.
    IRMapping combiner(inner[i / reduction.getNumReductions()]);
    Block &source =
        terminator.getReductions()[i % reduction.getNumReductions()].front();
    combiner.map(source.getArguments(), block.getArguments());
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    for (Operation &op : source)
      inside.clone(op, combiner);
  }
}

void Jammer::cloneReduction(scf::ParallelOp reduction) {
  auto map = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) {
      return mappings.front().lookupOrDefault(value);
    });
  };
  SmallVector<Value> inits;
  for (IRMapping &mapping : mappings)
    for (Value init : reduction.getInitVals())
      inits.push_back(mapping.lookupOrDefault(init));
  OpBuilder::InsertionGuard guard(builder);
  auto jammed = scf::ParallelOp::create(
      builder, reduction.getLoc(), map(reduction.getLowerBound()),
      map(reduction.getUpperBound()), map(reduction.getStep()), inits);
  if (!jammed.getBody()->empty())
    jammed.getBody()->getTerminator()->erase();
  cloneBody(reduction, jammed);
  unsigned results = reduction.getNumReductions();
  for (auto [i, mapping] : llvm::enumerate(mappings))
    mapping.map(reduction.getResults(),
                jammed.getResults().slice(i * results, results));
}

scf::ParallelOp Jammer::run() {
  scf::ParallelOp jammed = createLoop();
  for (Operation &op : loop.getBody()->without_terminator())
    cloneOp(op);
  loop.erase();
  return jammed;
}

/// Jams one dimension after the other while registers suffice.
static void jam(scf::ParallelOp loop) {
  std::optional<Jam> reused = findReused(loop);
  // Long reductions hold little more than their accumulators in registers.
  if (reused && reused->count <= kMaxSharing && hasUnknownLength(loop)) {
    int64_t most = kMaxResults / reused->count;
    if (std::optional<Jam> contiguous = findContiguous(loop, most)) {
      loop = Jammer(loop, *contiguous).run();
      Jammer(loop, *reused).run();
      return;
    }
  }
  if (std::optional<Jam> contiguous = findContiguous(loop, kMaxResults)) {
    Jammer(loop, *contiguous).run();
    return;
  }
  if (reused)
    loop = Jammer(loop, *reused).run();
  if (countResults(loop) <= kMaxSharing)
    if (std::optional<Jam> unknown = findUnknown(loop))
      Jammer(loop, *unknown).run();
}

namespace {
struct UnrollAndJamPass : ark::impl::UnrollAndJamPassBase<UnrollAndJamPass> {
  using UnrollAndJamPassBase::UnrollAndJamPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    UnrollAndJamPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<scf::ParallelOp> loops;
      body.walk([&](scf::ParallelOp loop) {
        if (loop.getNumReductions() == 0 && canRepeat(loop))
          loops.push_back(loop);
      });
      for (scf::ParallelOp loop : loops)
        jam(loop);
    }
  }
};
} // namespace
