//===- BodiesToLoops.cpp - Structured ops as parallel loops ---------------===//

#include "lib/support/DimIndices.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/support/LoopChain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BODIESTOLOOPSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Rewrites a chain of ops as one parallel loop, with a reduction loop inside
/// for every reduction. Values pass from op to op in registers. Results that
/// other ops read are stored at the end of an iteration.
class LoopBuilder {
public:
  LoopBuilder(const LoopChain &chain)
      : chain(chain), builder(chain.getOps().back()) {}

  void build();

private:
  Value getEnd(Location loc, ArrayRef<BufferExtent> extents);
  SmallVector<Value> getParallelEnds();
  scf::ParallelOp createLoop(Location loc, SmallVector<Value> ends,
                             ValueRange inits);
  void buildOp(linalg::LinalgOp op, ValueRange parallel);
  Value load(linalg::LinalgOp op, OpOperand &operand);
  void mapOperands(linalg::LinalgOp op, ArrayRef<OpOperand *> operands,
                   IRMapping &mapping);
  void cloneBody(linalg::LinalgOp op, Operation *except, IRMapping &mapping);
  Value combine(const Reduction &reduction, Value a, Value b);
  Value reduce(linalg::LinalgOp op, const Reduction &reduction);
  void storeResults();

  /// A value that the iteration has computed for its own element, and the
  /// element's indices.
  struct Result {
    Value value;
    SmallVector<Value> elementIndices;
  };

  const LoopChain &chain;
  OpBuilder builder;
  /// One index per loop of the current op; null if the index is not known yet.
  SmallVector<Value> indices;
  llvm::MapVector<Value, Result> results;
};
} // namespace

/// Returns the indices of the operand's element that this iteration accesses.
static SmallVector<Value> getElementIndices(OpBuilder &builder, Location loc,
                                            AffineMap map, ValueRange indices) {
  SmallVector<Value> elementIndices;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    elementIndices.push_back(getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, map.getSubMap({dim}), getAsOpFoldResult(indices))));
  return elementIndices;
}

Value LoopBuilder::load(linalg::LinalgOp op, OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  if (auto known = results.find(operand.get()); known != results.end())
    return known->second.value;
  SmallVector<Value> elementIndices = getElementIndices(
      builder, op.getLoc(), op.getMatchingIndexingMap(&operand), indices);
  return memref::LoadOp::create(builder, op.getLoc(), operand.get(),
                                elementIndices);
}

void LoopBuilder::mapOperands(linalg::LinalgOp op,
                              ArrayRef<OpOperand *> operands,
                              IRMapping &mapping) {
  for (OpOperand *operand : operands)
    if (BlockArgument element = op.getMatchingBlockArgument(operand);
        !element.use_empty())
      mapping.map(element, load(op, *operand));
}

void LoopBuilder::cloneBody(linalg::LinalgOp op, Operation *except,
                            IRMapping &mapping) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), indices[index.getDim()]);
    else if (&inner != except)
      builder.clone(inner, mapping);
  }
}

Value LoopBuilder::combine(const Reduction &reduction, Value a, Value b) {
  Operation *clone = builder.clone(*reduction.combiner);
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// Returns one of several equal extents, preferably one with a constant bound:
/// the division among threads depends on the bound.
Value LoopBuilder::getEnd(Location loc, ArrayRef<BufferExtent> extents) {
  const auto *known = llvm::find_if(extents, [](const BufferExtent &extent) {
    return succeeded(ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {extent.buffer, extent.dim}));
  });
  const BufferExtent &extent =
      known == extents.end() ? extents.front() : *known;
  return getValueOrCreateConstantIndexOp(
      builder, loc,
      memref::getMixedSize(builder, loc, extent.buffer, extent.dim));
}

/// Returns the extents of the parallel loops. All ops of the chain have equal
/// extents, but possibly only one op's extent has a constant bound.
SmallVector<Value> LoopBuilder::getParallelEnds() {
  SmallVector<SmallVector<BufferExtent>> extents;
  for (linalg::LinalgOp op : chain.getOps()) {
    SmallVector<unsigned> dims;
    op.getParallelDims(dims);
    extents.resize(dims.size());
    for (auto [known, dim] : llvm::zip(extents, dims))
      llvm::append_range(known, getExtents(op, dim));
  }
  SmallVector<Value> ends;
  for (ArrayRef<BufferExtent> known : extents)
    ends.push_back(getEnd(chain.getOps().front()->getLoc(), known));
  return ends;
}

/// Creates a parallel loop, and moves the builder inside.
scf::ParallelOp LoopBuilder::createLoop(Location loc, SmallVector<Value> ends,
                                        ValueRange inits) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  // A scalar needs a loop of one iteration, because only loops are divided
  // among threads.
  if (ends.empty())
    ends.push_back(one);
  SmallVector<Value> begins(ends.size(), zero), steps(ends.size(), one);
  auto loop = scf::ParallelOp::create(builder, loc, begins, ends, steps, inits);
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

/// Builds the reduction loop of an op. Returns the combined value.
Value LoopBuilder::reduce(linalg::LinalgOp op, const Reduction &reduction) {
  Location loc = op.getLoc();
  Value neutral = arith::ConstantOp::create(builder, loc, reduction.neutral);
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> ends;
  for (unsigned dim : dims)
    ends.push_back(getEnd(loc, getExtents(op, dim)));
  scf::ParallelOp loop = createLoop(loc, ends, neutral);
  for (auto [dim, index] : llvm::zip(dims, loop.getInductionVars()))
    indices[dim] = index;
  IRMapping mapping;
  mapOperands(op, op.getDpsInputOperands(), mapping);
  cloneBody(op, reduction.combiner, mapping);
  auto terminator = scf::ReduceOp::create(
      builder, loc, ValueRange{mapping.lookupOrDefault(reduction.value)});
  Block &block = terminator.getReductions().front().front();
  builder.setInsertionPointToEnd(&block);
  Value sum = combine(reduction, block.getArgument(0), block.getArgument(1));
  scf::ReduceReturnOp::create(builder, loc, sum);
  return loop.getResult(0);
}

/// Builds the code of `op` in one iteration of the parallel loop.
void LoopBuilder::buildOp(linalg::LinalgOp op, ValueRange parallel) {
  SmallVector<unsigned> dims;
  op.getParallelDims(dims);
  indices.assign(op.getNumLoops(), Value());
  for (auto [dim, index] : llvm::zip(dims, parallel))
    indices[dim] = index;
  SmallVector<OpOperand *> inits;
  for (OpOperand &init : op.getDpsInitsMutable())
    inits.push_back(&init);

  SmallVector<Value> values;
  if (std::optional<Reduction> reduction = Reduction::match(op)) {
    Value old = load(op, *inits.front());
    values.push_back(combine(*reduction, old, reduce(op, *reduction)));
  } else {
    IRMapping mapping;
    mapOperands(op, op.getDpsInputOperands(), mapping);
    mapOperands(op, inits, mapping);
    cloneBody(op, /*except=*/nullptr, mapping);
    for (Value yielded : op.getBlock()->getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(yielded));
  }
  for (auto [init, value] : llvm::zip(inits, values))
    results[init->get()] = {
        value, getElementIndices(builder, op.getLoc(),
                                 op.getMatchingIndexingMap(init), indices)};
}

void LoopBuilder::storeResults() {
  for (auto &[buffer, result] : results)
    if (!chain.isPrivate(buffer))
      memref::StoreOp::create(builder, result.value.getLoc(), result.value,
                              buffer, result.elementIndices);
}

void LoopBuilder::build() {
  Location loc = chain.getOps().front()->getLoc();
  SmallVector<Value> parallel =
      createLoop(loc, getParallelEnds(), {}).getInductionVars();
  for (linalg::LinalgOp op : chain.getOps())
    buildOp(op, parallel);
  storeResults();
  for (linalg::LinalgOp op : chain.getOps())
    op.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the chains of a block in program order. Ops inside of a chain's
/// range that do not access memory may move before the chain, or stay.
static SmallVector<LoopChain> findChains(Block &block) {
  SmallVector<LoopChain> chains;
  LoopChain chain;
  auto finish = [&] {
    if (!chain.empty())
      chains.push_back(std::move(chain));
    chain = {};
  };
  for (Operation &op : block) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (structured && chain.add(structured))
      continue;
    if (!structured && isMemoryEffectFree(&op))
      continue;
    finish();
    if (structured)
      chain.add(structured);
  }
  finish();
  return chains;
}

namespace {
struct BodiesToLoopsPass : ark::impl::BodiesToLoopsPassBase<BodiesToLoopsPass> {
  using BodiesToLoopsPassBase::BodiesToLoopsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    BodiesToLoopsPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<Block *> blocks;
      body.walk([&](Block *block) { blocks.push_back(block); });
      for (Block *block : blocks)
        for (const LoopChain &chain : findChains(*block))
          LoopBuilder(chain).build();
      eraseDead(body);
    }
  }

private:
  /// Erases temporaries whose values stay in registers, and views of them.
  static void eraseDead(func::FuncOp body) {
    SmallVector<Operation *> ops;
    body.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};
} // namespace
