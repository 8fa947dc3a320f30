//===- ReductionsToLoops.cpp - Reductions as parallel loops ---------------===//

#include "passes/target/Bodies.h"
#include "passes/target/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {
#define GEN_PASS_DEF_REDUCTIONSTOLOOPSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// What can be written so
//===----------------------------------------------------------------------===//

namespace {
/// A linalg op with one result that combines values with one op.
struct Reduction {
  linalg::LinalgOp op;
  Operation *combiner;
  /// What is combined with the accumulator.
  Value value;
  TypedAttr neutral;
};
} // namespace

/// Threads exchange 32-bit values.
static bool canBeShared(Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 32;
}

static std::optional<Reduction> matchReduction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      !op.hasPureBufferSemantics() || op.hasIndexSemantics())
    return std::nullopt;
  Value accumulator = op.getRegionOutputArgs().front();
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!canBeShared(accumulator.getType()) || !accumulator.hasOneUse() ||
      !combiner || *accumulator.user_begin() != combiner ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  if (!neutral)
    return std::nullopt;
  bool isLeft = combiner->getOperand(0) == accumulator;
  return Reduction{op, combiner, combiner->getOperand(isLeft ? 1 : 0),
                   *neutral};
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Writes one reduction as a parallel loop over its results, with a reducing
/// one inside.
class LoopBuilder {
public:
  LoopBuilder(const Reduction &reduction)
      : reduction(reduction), op(reduction.op), loc(op.getLoc()), builder(op) {}

  void build();

private:
  scf::ParallelOp createLoop(ArrayRef<unsigned> dims, ValueRange inits);
  Value load(OpOperand &operand);
  Value combine(OpBuilder &builder, Location loc, Value a, Value b);
  Value reduce();

  const Reduction &reduction;
  linalg::LinalgOp op;
  Location loc;
  OpBuilder builder;
  SmallVector<Range> ranges;
  /// One per loop of the op, as far as they are known.
  SmallVector<Value> indices;
};
} // namespace

/// The element of an operand that this iteration touches.
static SmallVector<Value> getPlace(OpBuilder &builder, Location loc,
                                   AffineMap map, ValueRange indices) {
  SmallVector<Value> place;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    place.push_back(getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, map.getSubMap({dim}), getAsOpFoldResult(indices))));
  return place;
}

Value LoopBuilder::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  SmallVector<Value> place =
      getPlace(builder, loc, op.getMatchingIndexingMap(&operand), indices);
  return memref::LoadOp::create(builder, loc, operand.get(), place);
}

Value LoopBuilder::combine(OpBuilder &builder, Location loc, Value a, Value b) {
  Operation *clone = builder.clone(*reduction.combiner);
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// A parallel loop over some dimensions of the op; the builder goes inside.
scf::ParallelOp LoopBuilder::createLoop(ArrayRef<unsigned> dims,
                                        ValueRange inits) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> ends;
  for (unsigned dim : dims)
    ends.push_back(
        getValueOrCreateConstantIndexOp(builder, loc, ranges[dim].size));
  // A loop of one iteration is where threads are given their shares.
  if (ends.empty())
    ends.push_back(one);
  SmallVector<Value> begins(ends.size(), zero), steps(ends.size(), one);
  auto loop = scf::ParallelOp::create(builder, loc, begins, ends, steps, inits);
  builder.setInsertionPointToStart(loop.getBody());
  for (auto [dim, index] : llvm::zip(dims, loop.getInductionVars()))
    indices[dim] = index;
  return loop;
}

/// The combined values of the innermost loops.
Value LoopBuilder::reduce() {
  Value neutral = arith::ConstantOp::create(builder, loc, reduction.neutral);
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  OpBuilder::InsertionGuard guard(builder);
  scf::ParallelOp loop = createLoop(dims, neutral);
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands())
    mapping.map(op.getMatchingBlockArgument(input), load(*input));
  for (Operation &inner : op.getBlock()->without_terminator())
    if (&inner != reduction.combiner)
      builder.clone(inner, mapping);
  auto terminator = scf::ReduceOp::create(
      builder, loc, ValueRange{mapping.lookupOrDefault(reduction.value)});
  Block &block = terminator.getReductions().front().front();
  builder.setInsertionPointToEnd(&block);
  Value sum = combine(builder, loc, block.getArgument(0), block.getArgument(1));
  scf::ReduceReturnOp::create(builder, loc, sum);
  return loop.getResult(0);
}

void LoopBuilder::build() {
  ranges = op.createLoopRanges(builder, loc);
  indices.resize(ranges.size());
  SmallVector<unsigned> dims;
  op.getParallelDims(dims);
  createLoop(dims, {});
  Value sum = reduce();
  OpOperand &init = op.getDpsInitsMutable()[0];
  SmallVector<Value> place =
      getPlace(builder, loc, op.getMatchingIndexingMap(&init), indices);
  Value old = memref::LoadOp::create(builder, loc, init.get(), place);
  Value result = combine(builder, loc, old, sum);
  memref::StoreOp::create(builder, loc, result, init.get(), place);
  op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ReductionsToLoopsPass
    : ark::impl::ReductionsToLoopsPassBase<ReductionsToLoopsPass> {
  using ReductionsToLoopsPassBase::ReductionsToLoopsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<linalg::LinalgOp> ops;
      body.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
      for (linalg::LinalgOp op : ops)
        if (std::optional<Reduction> reduction = matchReduction(op))
          LoopBuilder(*reduction).build();
    }
  }
};
} // namespace
