//===- GroupReduction.cpp - Reductions that threads share -----------------===//

#include "passes/target/GroupReduction.h"

#include "passes/target/IterationSpace.h"
#include "passes/target/Lowerings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::ark;

/// Where the number of results is only known at run time.
static constexpr int64_t kDefaultLanes = 8;

/// The one op that a reducing loop combines two values with.
static Operation *getCombiner(scf::ParallelOp reduction) {
  if (reduction.getNumReductions() != 1)
    return nullptr;
  auto reduce = cast<scf::ReduceOp>(reduction.getBody()->getTerminator());
  Block &block = reduce.getReductions().front().front();
  return llvm::hasSingleElement(block.without_terminator()) ? &block.front()
                                                            : nullptr;
}

/// As many threads as there are for each result, and values for each of them.
static int64_t getLanes(scf::ParallelOp loop, scf::ParallelOp reduction,
                        int64_t threads) {
  int64_t lanes = kDefaultLanes;
  if (std::optional<int64_t> results = getSizeBound(loop))
    lanes = threads / std::max<int64_t>(*results, 1);
  if (std::optional<int64_t> values = getSizeBound(reduction))
    lanes = std::min(lanes, *values);
  lanes = std::clamp<int64_t>(lanes, 1, kWarpSize);
  return llvm::bit_floor(static_cast<uint64_t>(lanes));
}

std::optional<GroupReduction> GroupReduction::match(scf::ParallelOp loop,
                                                    scf::ParallelOp reduction,
                                                    int64_t threads) {
  Operation *combiner = getCombiner(reduction);
  std::optional<TypedAttr> neutral =
      combiner ? arith::getNeutralElement(combiner) : std::nullopt;
  Attribute init;
  if (!neutral ||
      !matchPattern(reduction.getInitVals().front(), m_Constant(&init)) ||
      init != *neutral)
    return std::nullopt;
  return GroupReduction(loop, reduction, threads,
                        getLanes(loop, reduction, threads));
}

Value GroupReduction::combine(OpBuilder &builder, Value a, Value b) {
  Operation *clone = builder.clone(*getCombiner(reduction));
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// What one thread of a group combines.
Value GroupReduction::reduce(OpBuilder &builder, Value lane) {
  Location loc = reduction.getLoc();
  IterationSpace space(builder, reduction);
  Value stride = arith::ConstantIndexOp::create(builder, loc, lanes);
  auto share = scf::ForOp::create(builder, loc, lane, space.size, stride,
                                  reduction.getInitVals());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  SmallVector<Value> variables =
      space.getVariables(builder, share.getInductionVar());
  auto terminator = cast<scf::ReduceOp>(reduction.getBody()->getTerminator());
  for (auto [from, to] : llvm::zip(reduction.getInductionVars(), variables))
    from.replaceAllUsesWith(to);
  for (Operation &op :
       llvm::make_early_inc_range(reduction.getBody()->without_terminator()))
    op.moveBefore(share.getBody(), share.getBody()->end());
  Value result = combine(builder, share.getRegionIterArgs().front(),
                         terminator.getOperands().front());
  scf::YieldOp::create(builder, loc, result);
  return share.getResult(0);
}

/// In a butterfly, so that the order is the same in every run.
Value GroupReduction::exchange(OpBuilder &builder, Value value) {
  Location loc = reduction.getLoc();
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    Value other = gpu::ShuffleOp::create(builder, loc, value, distance,
                                         kWarpSize, gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    value = combine(builder, value, other);
  }
  return value;
}

void GroupReduction::map(OpBuilder &builder, Value thread) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  IterationSpace space(builder, loop);
  Value groupSize = constant(lanes), one = constant(1), zero = constant(0);
  // All threads of a warp take part in an exchange. Those beyond the last
  // result do it once more, and leave it there.
  Value wanted = arith::MulIOp::create(builder, loc, space.size, groupSize);
  Value warp = constant(kWarpSize);
  Value warps = arith::CeilDivUIOp::create(builder, loc, wanted, warp);
  Value end = arith::MulIOp::create(builder, loc, warps, warp);
  Value last = arith::SubIOp::create(builder, loc, space.size, one);
  auto share = scf::ForOp::create(builder, loc, thread, end, constant(threads));

  builder.setInsertionPointToStart(share.getBody());
  Value number = share.getInductionVar();
  Value group = arith::DivUIOp::create(builder, loc, number, groupSize);
  Value lane = arith::RemUIOp::create(builder, loc, number, groupSize);
  Value result = arith::MinUIOp::create(builder, loc, group, last);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, zero);
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        group, space.size);
  Value stores = arith::AndIOp::create(builder, loc, isFirst, isThere);
  inlineBody(builder, loop, share.getBody()->getTerminator(),
             space.getVariables(builder, result));

  builder.setInsertionPoint(reduction);
  Value value = exchange(builder, reduce(builder, lane));
  reduction.getResult(0).replaceAllUsesWith(value);
  auto branch = scf::IfOp::create(builder, loc, stores, /*hasElse=*/false);
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(std::next(reduction->getIterator()),
                            share.getBody()->getTerminator()->getIterator())))
    op.moveBefore(branch.thenBlock()->getTerminator());
  reduction.erase();
}
