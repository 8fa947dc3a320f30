//===- GroupReduction.cpp - Reductions by groups of threads ---------------===//

#include "passes/target/simt/GroupReduction.h"

#include "lib/backend/GpuInstructions.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/IterationSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::ark;

/// Threads per group if the number of values is dynamic.
static constexpr int64_t kDefaultGroupThreads = 8;

std::optional<GroupReduction>
GroupReduction::match(scf::ParallelOp loop, int64_t threads, int64_t warpSize) {
  SmallVector<ThreadReduction> reductions;
  bool writes = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto inner = dyn_cast<scf::ParallelOp>(op);
    if (!inner) {
      writes |= !isMemoryEffectFree(&op) && !isa<memref::LoadOp>(op);
      continue;
    }
    std::optional<ThreadReduction> reduction = ThreadReduction::match(inner);
    if (!reduction || writes)
      return std::nullopt;
    reductions.push_back(std::move(*reduction));
  }
  return GroupReduction(loop, std::move(reductions), threads, warpSize);
}

GroupReduction::GroupReduction(scf::ParallelOp loop,
                               SmallVector<ThreadReduction> reductions,
                               int64_t threads, int64_t warpSize)
    : loop(loop), reductions(std::move(reductions)), threads(threads),
      warpSize(warpSize) {
  groupThreads = chooseGroupThreads();
}

/// Returns the threads per group: an even share of the CTA, and at most one
/// thread per strip.
int64_t GroupReduction::chooseGroupThreads() const {
  std::optional<int64_t> results = getSizeBound(loop);
  int64_t most = results ? threads / std::max<int64_t>(*results, 1) : warpSize;
  int64_t strips = 1;
  for (const ThreadReduction &reduction : reductions)
    strips = std::max(strips, reduction.getNumStrips().value_or(
                                  results ? most : kDefaultGroupThreads));
  // Several warps synchronise at a barrier, which all of them must reach.
  if (most < 2 * warpSize)
    most = std::min(most, warpSize);
  int64_t wanted = std::clamp<int64_t>(std::min(most, strips), 1, threads);
  return llvm::bit_floor(static_cast<uint64_t>(wanted));
}

bool GroupReduction::copiesElement() const {
  return getSizeBound(loop) == 1 &&
         llvm::all_of(reductions, [](const ThreadReduction &reduction) {
           return getSizeBound(reduction.getLoop()) == 1;
         });
}

/// Returns true if an instruction needs all threads of a warp: a shuffle, or a
/// load fence, unless the loop copies a single element. Otherwise, a thread
/// beyond the last result would read the result while its owner stores it.
bool GroupReduction::needsWarp(OpBuilder &builder) const {
  if (groupThreads > 1)
    return true;
  return !copiesElement() &&
         getGpuInstructions(builder).doesLoadFenceNeedWarp();
}

/// Combines the values of a warp with XOR shuffles, in the same order in every
/// run.
void GroupReduction::exchange(OpBuilder &builder,
                              const ThreadReduction &reduction,
                              MutableArrayRef<Value> values) {
  Location loc = loop.getLoc();
  for (int64_t distance = std::min(groupThreads, warpSize) / 2; distance > 0;
       distance /= 2)
    for (auto [result, value] : llvm::enumerate(values)) {
      Value other = gpu::ShuffleOp::create(builder, loc, value, distance,
                                           warpSize, gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      value = reduction.combine(builder, result, value, other);
    }
  if (groupThreads > warpSize)
    exchangeWarps(builder, reduction, values);
}

/// Creates shared memory with a word per warp and value.
static Value createWords(OpBuilder &builder, scf::ParallelOp loop,
                         int64_t warps, Type type, int64_t values) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = loop->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(builder, loop.getLoc(),
                                  MemRefType::get({values, warps}, type));
}

/// Combines the values of several warps through shared memory.
void GroupReduction::exchangeWarps(OpBuilder &builder,
                                   const ThreadReduction &reduction,
                                   MutableArrayRef<Value> values) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value words = createWords(builder, loop, threads / warpSize,
                            values.front().getType(), values.size());
  Value size = constant(warpSize);
  Value warp = arith::DivUIOp::create(builder, loc, thread, size);
  Value inWarp = arith::RemUIOp::create(builder, loc, thread, size);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      inWarp, constant(0));
  auto branch = scf::IfOp::create(builder, loc, leads, /*hasElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    for (auto [result, value] : llvm::enumerate(values))
      memref::StoreOp::create(builder, loc, value, words,
                              ValueRange{constant(result), warp});
  }
  gpu::BarrierOp::create(builder, loc);
  int64_t warps = groupThreads / warpSize;
  Value group =
      arith::DivUIOp::create(builder, loc, thread, constant(groupThreads));
  Value first = arith::MulIOp::create(builder, loc, group, constant(warps));
  for (auto [result, value] : llvm::enumerate(values)) {
    Value row = constant(result);
    value = memref::LoadOp::create(builder, loc, words, ValueRange{row, first});
    for (int64_t i = 1; i < warps; ++i) {
      Value index = arith::AddIOp::create(builder, loc, first, constant(i));
      Value other =
          memref::LoadOp::create(builder, loc, words, ValueRange{row, index});
      value = reduction.combine(builder, result, value, other);
    }
  }
}

void GroupReduction::mapReductions(OpBuilder &builder, Value inGroup) {
  for (ThreadReduction &reduction : reductions) {
    scf::ParallelOp inner = reduction.getLoop();
    builder.setInsertionPoint(inner);
    SmallVector<Value> values = reduction.build(builder, inGroup, groupThreads);
    exchange(builder, reduction, values);
    inner.replaceAllUsesWith(values);
  }
}

/// Returns true if an op loads memory that `writes` change.
static bool loadsWritten(Operation &op, ArrayRef<Access> writes) {
  return isa<memref::LoadOp, vector::LoadOp>(op) &&
         llvm::any_of(getAccesses(&op), [&](const Access &access) {
           return llvm::any_of(writes, [&](const Access &write) {
             return conflict(access, write);
           });
         });
}

/// Returns true if an op, or an op nested in it, uses a result of `ops`.
static bool usesAny(Operation &op,
                    const llvm::SmallSetVector<Operation *, 8> &ops) {
  return op
      .walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(),
                            [&](Value operand) {
                              return ops.contains(operand.getDefiningOp());
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Moves loads of memory that `branch` writes, and the ops that depend on them,
/// into the branch. A thread that does not store would otherwise load an
/// element while its owner stores it. Moves nothing if a loop depends on such a
/// load.
static void sinkLoadsOfResults(scf::IfOp branch) {
  SmallVector<Access> writes = getAccesses(branch);
  llvm::erase_if(writes, [](const Access &access) { return !access.writes; });
  llvm::SmallSetVector<Operation *, 8> moving;
  for (Operation &op : *branch->getBlock()) {
    if (&op == branch)
      break;
    bool depends = usesAny(op, moving);
    if (depends && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)))
      return;
    if (depends || loadsWritten(op, writes))
      moving.insert(&op);
  }
  Operation *first = &branch.thenBlock()->front();
  for (Operation *op : moving)
    op->moveBefore(first);
}

void GroupReduction::map(OpBuilder &builder, Value thread) {
  this->thread = thread;
  Location loc = loop.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  IterationSpace space(builder, loop);
  Value groupSize = constant(groupThreads), one = constant(1),
        zero = constant(0);
  // A shuffle needs all threads of a warp, and the barrier of a group of
  // several warps needs all warps of the CTA. Threads beyond the last result
  // therefore recompute the last result and do not store it.
  Value wanted = arith::MulIOp::create(builder, loc, space.size, groupSize);
  Value together = constant(groupThreads > warpSize ? threads
                            : needsWarp(builder)    ? warpSize
                                                    : 1);
  Value iterations = arith::CeilDivUIOp::create(builder, loc, wanted, together);
  Value end = arith::MulIOp::create(builder, loc, iterations, together);
  Value last = arith::SubIOp::create(builder, loc, space.size, one);
  auto share = scf::ForOp::create(builder, loc, thread, end, constant(threads));

  builder.setInsertionPointToStart(share.getBody());
  Value iteration = share.getInductionVar();
  Value group = arith::DivUIOp::create(builder, loc, iteration, groupSize);
  Value inGroup = arith::RemUIOp::create(builder, loc, iteration, groupSize);
  Value result = arith::MinUIOp::create(builder, loc, group, last);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        inGroup, zero);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       group, space.size);
  Value stores = arith::AndIOp::create(builder, loc, isFirst, exists);
  inlineBody(builder, loop, share.getBody()->getTerminator(),
             space.getVariables(builder, result));

  mapReductions(builder, inGroup);
  scf::ParallelOp lastReduction = reductions.back().getLoop();
  builder.setInsertionPoint(lastReduction);
  auto branch = scf::IfOp::create(builder, loc, stores, /*hasElse=*/false);
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(std::next(lastReduction->getIterator()),
                            share.getBody()->getTerminator()->getIterator())))
    op.moveBefore(branch.thenBlock()->getTerminator());
  for (ThreadReduction &reduction : reductions)
    reduction.getLoop().erase();
  sinkLoadsOfResults(branch);
}
