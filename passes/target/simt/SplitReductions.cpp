//===- SplitReductions.cpp - Splits reductions among warps ----------------===//

#include "lib/support/DimIndices.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/support/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Shorter reductions have too little work for every warp.
static constexpr int64_t kMinLength = 128;
/// Number of f32 results that fill a memory sector.
static constexpr int64_t kMinResults = 8;
/// The alignment that vectors need.
static constexpr int64_t kAlignment = 64;

/// Returns true if a loop runs from zero with step one.
static bool isZeroBasedUnitStep(scf::ParallelOp loop) {
  return llvm::all_of(loop.getLowerBound(),
                      [](Value v) { return isConstantIntValue(v, 0); }) &&
         llvm::all_of(loop.getStep(),
                      [](Value v) { return isConstantIntValue(v, 1); });
}

/// Returns the reduction of a loop if there is exactly one and no op writes
/// before it.
static scf::ParallelOp getReduction(scf::ParallelOp loop) {
  scf::ParallelOp found;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto reduction = dyn_cast<scf::ParallelOp>(op);
    if (reduction && found)
      return {};
    if (reduction)
      found = reduction;
    else if (!found && !isMemoryEffectFree(&op) && !isa<memref::LoadOp>(op))
      return {};
  }
  return found;
}

/// Returns the constant extents of a loop, if there are any and it has at least
/// `least` and at most `most` results.
static std::optional<SmallVector<int64_t>>
getExtents(scf::ParallelOp loop, int64_t least, int64_t most) {
  SmallVector<int64_t> extents;
  int64_t results = 1;
  for (Value end : loop.getUpperBound()) {
    std::optional<int64_t> extent = getConstantIntValue(end);
    if (!extent || llvm::MulOverflow(results, *extent, results))
      return std::nullopt;
    extents.push_back(*extent);
  }
  if (!isZeroBasedUnitStep(loop) || results < least || results > most)
    return std::nullopt;
  return extents;
}

static bool hasStaticLength(scf::ParallelOp reduction) {
  return llvm::all_of(reduction.getUpperBound(), [](Value end) {
    return getConstantIntValue(end).has_value();
  });
}

/// Returns true for a single reduction, possibly long, over elements that are
/// contiguous across results. If the length is static, all elements must be
/// contiguous: ark-unroll-and-jam serves products of such a length, which read
/// some elements for several results.
static bool isLongAndStrided(scf::ParallelOp loop, scf::ParallelOp reduction) {
  bool isStatic = hasStaticLength(reduction);
  if (reduction.getNumReductions() != 1 || !isZeroBasedUnitStep(reduction) ||
      (reduction.getNumLoops() != 1 && !isStatic))
    return false;
  std::optional<int64_t> length = getSizeBound(reduction);
  if (length && *length < kMinLength)
    return false;
  Value neighbour = loop.getInductionVars().back();
  auto isContiguous = [&](memref::LoadOp load) {
    return loadsNeighbours(load, neighbour,
                           [&](Value value) { return value != neighbour; });
  };
  auto loads = reduction.getBody()->getOps<memref::LoadOp>();
  return !loads.empty() && (isStatic ? llvm::all_of(loads, isContiguous)
                                     : llvm::any_of(loads, isContiguous));
}

namespace {
/// Builds the loop that reduces each share of the terms, and the loop that
/// combines the partial results.
class Splitter {
public:
  Splitter(scf::ParallelOp loop, scf::ParallelOp reduction,
           ArrayRef<int64_t> extents, int64_t shares)
      : loop(loop), reduction(reduction), builder(loop), loc(loop.getLoc()),
        shares(shares) {
    createBuffer(extents);
  }

  void run() {
    reduceShares();
    combinePartialResults();
  }

private:
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  }
  void createBuffer(ArrayRef<int64_t> extents);
  scf::ParallelOp createReduction(Value begin, Value end, Value step);
  void reduceShares();
  void combinePartialResults();

  scf::ParallelOp loop, reduction;
  OpBuilder builder;
  Location loc;
  int64_t shares;
  Value buffer;
};
} // namespace

/// Creates a buffer with one value per share and result.
void Splitter::createBuffer(ArrayRef<int64_t> extents) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = loop->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  SmallVector<int64_t> shape = {shares};
  llvm::append_range(shape, extents);
  buffer = memref::AllocaOp::create(
      builder, loc, MemRefType::get(shape, reduction.getResult(0).getType()),
      builder.getI64IntegerAttr(kAlignment));
}

/// Creates a loop that combines like the old one, with an empty body.
scf::ParallelOp Splitter::createReduction(Value begin, Value end, Value step) {
  auto loop =
      scf::ParallelOp::create(builder, loc, ValueRange{begin}, ValueRange{end},
                              ValueRange{step}, reduction.getInitVals());
  if (!loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  return loop;
}

/// Ends the body of a reduction with `value`.
static void finishReduction(OpBuilder &builder, scf::ParallelOp source,
                            Value value) {
  auto terminator = cast<scf::ReduceOp>(source.getBody()->getTerminator());
  auto reduce = scf::ReduceOp::create(builder, source.getLoc(), value);
  IRMapping mapping;
  Block &from = terminator.getReductions().front().front(),
        &to = reduce.getReductions().front().front();
  mapping.map(from.getArguments(), to.getArguments());
  OpBuilder inside = OpBuilder::atBlockEnd(&to);
  for (Operation &op : from)
    inside.clone(op, mapping);
}

void Splitter::reduceShares() {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> begins(loop.getLowerBound()), ends(loop.getUpperBound()),
      steps(loop.getStep());
  begins.insert(begins.begin(), constant(0));
  ends.insert(ends.begin(), constant(shares));
  steps.insert(steps.begin(), constant(1));
  auto outer = scf::ParallelOp::create(builder, loc, begins, ends, steps);
  builder.setInsertionPointToStart(outer.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVars(),
              ValueRange(outer.getInductionVars()).drop_front());
  for (Operation &op :
       llvm::make_range(loop.getBody()->begin(), reduction->getIterator()))
    builder.clone(op, mapping);
  Value size = mapping.lookupOrDefault(reduction.getUpperBound().front());
  std::optional<IterationSpace> space;
  if (reduction.getNumLoops() > 1) {
    space.emplace(builder, reduction);
    size = space->size;
  }
  scf::ParallelOp inner =
      createReduction(outer.getInductionVars().front(), size, constant(shares));
  memref::StoreOp::create(builder, loc, inner.getResult(0), buffer,
                          outer.getInductionVars());
  builder.setInsertionPointToStart(inner.getBody());
  Value iteration = inner.getInductionVars().front();
  mapping.map(reduction.getInductionVars(),
              space ? space->getVariables(builder, iteration)
                    : SmallVector<Value>{iteration});
  for (Operation &op : reduction.getBody()->without_terminator())
    builder.clone(op, mapping);
  auto terminator = cast<scf::ReduceOp>(reduction.getBody()->getTerminator());
  finishReduction(builder, reduction,
                  mapping.lookupOrDefault(terminator.getOperands().front()));
}

void Splitter::combinePartialResults() {
  builder.setInsertionPoint(reduction);
  scf::ParallelOp sum =
      createReduction(constant(0), constant(shares), constant(1));
  builder.setInsertionPointToStart(sum.getBody());
  SmallVector<Value> indices(sum.getInductionVars());
  llvm::append_range(indices, loop.getInductionVars());
  Value partial = memref::LoadOp::create(builder, loc, buffer, indices);
  finishReduction(builder, reduction, partial);
  reduction.replaceAllUsesWith(sum);
  reduction.erase();
}

namespace {
struct SplitReductionsPass
    : ark::impl::SplitReductionsPassBase<SplitReductionsPass> {
  using SplitReductionsPassBase::SplitReductionsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    SplitReductionsPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<scf::ParallelOp> loops;
      body.walk([&](scf::ParallelOp loop) {
        if (loop.getNumReductions() == 0)
          loops.push_back(loop);
      });
      for (scf::ParallelOp loop : loops)
        split(loop, *warpThreads);
    }
  }

private:
  void split(scf::ParallelOp loop, int64_t warpThreads) {
    scf::ParallelOp reduction = getReduction(loop);
    if (!reduction || !isLongAndStrided(loop, reduction))
      return;
    // The threads of a warp read the sectors of several rows if a row of
    // results is shorter than a warp. The length of such a loop is a constant.
    bool isStatic = hasStaticLength(reduction);
    auto extents =
        getExtents(loop, isStatic ? kMinResults : warpThreads, threads);
    if (!extents)
      return;
    int64_t results = isStatic ? llvm::product_of(*extents) : warpThreads;
    int64_t shares = threads / std::min(results, warpThreads);
    Splitter(loop, reduction, *extents, shares).run();
    ++numSplit;
  }
};
} // namespace
