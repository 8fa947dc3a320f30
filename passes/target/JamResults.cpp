//===- JamResults.cpp - Loads that serve several results ------------------===//

#include "passes/target/Bodies.h"
#include "passes/target/Passes.h"
#include "passes/target/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {
#define GEN_PASS_DEF_JAMRESULTSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Results that a thread accumulates at once.
static constexpr int64_t kMaxResults = 8;

//===----------------------------------------------------------------------===//
// Which dimension
//===----------------------------------------------------------------------===//

static SmallVector<scf::ParallelOp> getReductions(scf::ParallelOp loop) {
  SmallVector<scf::ParallelOp> reductions;
  for (auto inner : loop.getBody()->getOps<scf::ParallelOp>())
    reductions.push_back(inner);
  return reductions;
}

/// Whether all of a loop's iterations are known to be [0, extent).
static std::optional<int64_t> getExtent(scf::ParallelOp loop, unsigned dim) {
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound()[dim]);
  bool isPlain = isConstantIntValue(loop.getLowerBound()[dim], 0) &&
                 isConstantIntValue(loop.getStep()[dim], 1);
  return isPlain ? end : std::nullopt;
}

/// Whether `value` is computed from `source`, a variable of a loop.
static bool dependsOn(Value value, Value source) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  // What lies in a loop inside of that one, such as a reduction, may as well.
  return op && source.getParentRegion()->isAncestor(op->getParentRegion()) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, source);
         });
}

namespace {
/// A dimension of a parallel loop, and how many of its iterations become one.
struct Jam {
  unsigned dim;
  int64_t count;
  /// Of which kind: neighbours in memory, which one load brings.
  bool isContiguous;
};
} // namespace

/// Whether one load brings the elements of `count` neighbours along `variable`.
static bool isContiguousIn(memref::LoadOp load, Value variable, int64_t count) {
  auto isFixed = [&](Value value) { return !dependsOn(value, variable); };
  return count * getBytes(load) <= kLoadBytes &&
         loadsNeighbours(load, variable, isFixed) && isAlignedFor(load, count);
}

/// Whether the reductions are as long for all results along `variable`.
static bool haveSameBounds(scf::ParallelOp loop, Value variable) {
  return llvm::all_of(getReductions(loop), [&](scf::ParallelOp reduction) {
    return llvm::none_of(reduction->getOperands(), [&](Value bound) {
      return dependsOn(bound, variable);
    });
  });
}

/// Along the last dimension: the loads of as many results as fill one.
static std::optional<Jam> findContiguous(scf::ParallelOp loop) {
  unsigned dim = loop.getNumLoops() - 1;
  Value variable = loop.getInductionVars()[dim];
  std::optional<int64_t> extent = getExtent(loop, dim);
  if (!extent || !haveSameBounds(loop, variable))
    return std::nullopt;
  for (scf::ParallelOp reduction : getReductions(loop))
    for (auto load : reduction.getBody()->getOps<memref::LoadOp>()) {
      int64_t count = kLoadBytes / getBytes(load);
      if (count > 1 && count <= kMaxResults && *extent % count == 0 &&
          isContiguousIn(load, variable, count))
        return Jam{dim, count, true};
    }
  return std::nullopt;
}

/// Along a dimension that some, but not all, of the loads do not know.
static std::optional<Jam> findReused(scf::ParallelOp loop) {
  for (unsigned dim = 0; dim < loop.getNumLoops(); ++dim) {
    std::optional<int64_t> extent = getExtent(loop, dim);
    if (!extent || *extent < 2)
      continue;
    int64_t count = std::min(*extent, kMaxResults);
    while (*extent % count != 0)
      --count;
    Value variable = loop.getInductionVars()[dim];
    bool isReused = false;
    for (scf::ParallelOp reduction : getReductions(loop)) {
      unsigned loads = 0, dependent = 0;
      for (auto load : reduction.getBody()->getOps<memref::LoadOp>()) {
        ++loads;
        dependent += dependsOn(load.getMemRef(), variable) ||
                     llvm::any_of(load.getIndices(), [&](Value index) {
                       return dependsOn(index, variable);
                     });
      }
      isReused |= dependent > 0 && dependent < loads;
    }
    // The dimension that is left has to occupy the threads.
    if (isReused && count > 1 && dim + 1 < loop.getNumLoops() &&
        haveSameBounds(loop, variable))
      return Jam{dim, count, false};
  }
  return std::nullopt;
}

/// Nothing but reductions of one value, and what may be done several times
/// before it is stored.
static bool isSimple(scf::ParallelOp loop) {
  bool hasReduction = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto reduction = dyn_cast<scf::ParallelOp>(op);
    if (reduction && reduction.getNumReductions() != 1)
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
/// Writes a loop each iteration of which does several of the old one's.
class Jammer {
public:
  Jammer(scf::ParallelOp loop, Jam jam)
      : loop(loop), jam(jam), builder(loop), mappings(jam.count) {}

  void run();

private:
  void createLoop();
  void cloneOp(Operation &op);
  void cloneReduction(scf::ParallelOp reduction);
  void cloneBody(scf::ParallelOp reduction, scf::ParallelOp jammed);
  bool loadVector(Operation &op, MutableArrayRef<IRMapping> inner);

  scf::ParallelOp loop;
  Jam jam;
  OpBuilder builder;
  /// One for each of the iterations that become one.
  SmallVector<IRMapping> mappings;
};
} // namespace

/// With fewer iterations along one dimension; the builder goes inside.
void Jammer::createLoop() {
  Location loc = loop.getLoc();
  SmallVector<Value> ends(loop.getUpperBound());
  ends[jam.dim] = arith::ConstantIndexOp::create(
      builder, loc, *getExtent(loop, jam.dim) / jam.count);
  auto jammed = scf::ParallelOp::create(builder, loc, loop.getLowerBound(),
                                        ends, loop.getStep());
  builder.setInsertionPointToStart(jammed.getBody());
  SmallVector<Value> variables = jammed.getInductionVars();
  Value count = arith::ConstantIndexOp::create(builder, loc, jam.count);
  Value first = arith::MulIOp::create(builder, loc, variables[jam.dim], count);
  for (auto [i, mapping] : llvm::enumerate(mappings)) {
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    variables[jam.dim] = arith::AddIOp::create(builder, loc, first, offset);
    mapping.map(loop.getInductionVars(), variables);
  }
}

void Jammer::cloneOp(Operation &op) {
  if (auto reduction = dyn_cast<scf::ParallelOp>(op))
    return cloneReduction(reduction);
  for (IRMapping &mapping : mappings)
    builder.clone(op, mapping);
}

/// One load for all of the results, where they are neighbours. It lies at the
/// first of them.
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
    values.push_back(mapping.lookupOrDefault(terminator.getOperands().front()));
  auto reduce = scf::ReduceOp::create(builder, reduction.getLoc(), values);
  for (Region &region : reduce.getReductions()) {
    Block &block = region.front();
    IRMapping combiner;
    Block &source = terminator.getReductions().front().front();
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
  Value neutral =
      mappings.front().lookupOrDefault(reduction.getInitVals().front());
  SmallVector<Value> inits(jam.count, neutral);
  OpBuilder::InsertionGuard guard(builder);
  auto jammed = scf::ParallelOp::create(
      builder, reduction.getLoc(), map(reduction.getLowerBound()),
      map(reduction.getUpperBound()), map(reduction.getStep()), inits);
  if (!jammed.getBody()->empty())
    jammed.getBody()->getTerminator()->erase();
  cloneBody(reduction, jammed);
  for (auto [i, mapping] : llvm::enumerate(mappings))
    mapping.map(reduction.getResult(0), jammed.getResult(i));
}

void Jammer::run() {
  createLoop();
  for (Operation &op : loop.getBody()->without_terminator())
    cloneOp(op);
  loop.erase();
}

namespace {
struct JamResultsPass : ark::impl::JamResultsPassBase<JamResultsPass> {
  using JamResultsPassBase::JamResultsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<scf::ParallelOp> loops;
      body.walk([&](scf::ParallelOp loop) {
        if (loop.getNumReductions() == 0 && isSimple(loop))
          loops.push_back(loop);
      });
      for (scf::ParallelOp loop : loops) {
        std::optional<Jam> jam = findContiguous(loop);
        if (!jam)
          jam = findReused(loop);
        if (jam)
          Jammer(loop, *jam).run();
      }
    }
  }
};
} // namespace
