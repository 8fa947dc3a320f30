//===- ThreadLoop.cpp - A thread's share of a parallel loop ---------------===//

#include "passes/target/simt/ThreadLoop.h"

#include "passes/target/support/Aliasing.h"
#include "passes/target/support/IterationSpace.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the bytes that a thread loads before it waits for the first
/// of them. With 512 threads, an SM then has 64 KB in flight, more than its
/// share of the bandwidth times the latency of memory.
static constexpr int64_t kBytesInFlight = 128;
static constexpr int64_t kMaxBatch = 8;

/// Returns true if a buffer is a temporary in shared memory, whose latency is
/// too short to hide by a batch.
static bool isTemporary(Value buffer) {
  return getRoot(buffer).getDefiningOp<memref::AllocaOp>();
}

/// Returns the bytes that an op loads from global memory, or nothing if
/// iterations of a loop with the op cannot be interleaved.
static std::optional<int64_t> getLoadedBytes(Operation &op) {
  if (op.getNumRegions() != 0)
    return std::nullopt;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isTemporary(load.getMemRef()) ? 0 : getElementBytes(load.getType());
  if (auto load = dyn_cast<vector::LoadOp>(op)) {
    VectorType type = load.getVectorType();
    return isTemporary(load.getBase())
               ? 0
               : type.getNumElements() * getElementBytes(type.getElementType());
  }
  if (isa<memref::StoreOp, vector::StoreOp>(op) || isMemoryEffectFree(&op))
    return 0;
  return std::nullopt;
}

/// Returns the maximum number of iterations of `loop` that every thread
/// executes, up to kMaxBatch.
static int64_t getMostIterations(scf::ParallelOp loop, int64_t threads) {
  if (std::optional<int64_t> bound = getSizeBound(loop))
    return std::min(*bound / threads, kMaxBatch);
  // The other extents count the vCTAs of a work item.
  return getStaticSize(loop) < threads ? 1 : kMaxBatch;
}

/// Returns the number of iterations whose operands a thread loads at once.
static int64_t chooseBatch(scf::ParallelOp loop, int64_t threads) {
  int64_t most = getMostIterations(loop, threads);
  if (most <= 1)
    return 1;
  int64_t bytes = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    std::optional<int64_t> own = getLoadedBytes(op);
    if (!own)
      return 1;
    bytes += *own;
  }
  if (bytes == 0)
    return 1;
  return std::clamp<int64_t>(kBytesInFlight / bytes, 1, most);
}

/// Returns true if batches execute all iterations of a loop.
static bool areBatchesComplete(scf::ParallelOp loop, int64_t threads,
                               int64_t batch) {
  int64_t size = getStaticSize(loop);
  return getSizeBound(loop) == size && size % (threads * batch) == 0;
}

/// Clones the body for several iterations, op by op, so that loads of all
/// iterations precede the ops that use them. Iterations of a parallel loop are
/// independent.
static void cloneBatch(OpBuilder &builder, const IterationSpace &space,
                       Value iteration, int64_t batch, Value stride) {
  scf::ParallelOp loop = space.loop;
  SmallVector<IRMapping> mappings(batch);
  for (IRMapping &mapping : mappings) {
    mapping.map(loop.getInductionVars(),
                space.getVariables(builder, iteration));
    iteration =
        arith::AddIOp::create(builder, loop.getLoc(), iteration, stride);
  }
  for (Operation &op : loop.getBody()->without_terminator())
    for (IRMapping &mapping : mappings)
      builder.clone(op, mapping);
}

/// Builds the loop over whole batches. Returns the first iteration after it.
static Value createBatches(OpBuilder &builder, const IterationSpace &space,
                           Value first, int64_t batch, Value stride) {
  Location loc = first.getLoc();
  Value count = arith::ConstantIndexOp::create(builder, loc, batch);
  Value others = arith::ConstantIndexOp::create(builder, loc, batch - 1);
  Value step = arith::MulIOp::create(builder, loc, stride, count);
  Value end = arith::SubIOp::create(
      builder, loc, space.size,
      arith::MulIOp::create(builder, loc, stride, others));
  auto batches = scf::ForOp::create(builder, loc, first, end, step, first);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(batches.getBody());
  Value iteration = batches.getInductionVar();
  cloneBatch(builder, space, iteration, batch, stride);
  Value next = arith::AddIOp::create(builder, loc, iteration, step);
  scf::YieldOp::create(builder, loc, next);
  return batches.getResult(0);
}

void ark::divideAmongThreads(OpBuilder &builder, scf::ParallelOp loop,
                             Value first, int64_t threads) {
  Location loc = loop.getLoc();
  IterationSpace space(builder, loop);
  Value stride = arith::ConstantIndexOp::create(builder, loc, threads);
  int64_t batch = chooseBatch(loop, threads);
  if (batch > 1)
    first = createBatches(builder, space, first, batch, stride);
  if (batch > 1 && areBatchesComplete(loop, threads, batch))
    return loop.erase();
  auto share = scf::ForOp::create(builder, loc, first, space.size, stride);
  builder.setInsertionPointToStart(share.getBody());
  SmallVector<Value> variables =
      space.getVariables(builder, share.getInductionVar());
  inlineBody(builder, loop, share.getBody()->getTerminator(), variables);
  loop.erase();
}
