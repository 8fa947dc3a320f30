//===- MapToThreads.cpp - Parallel loops over the threads of a CTA --------===//

#include "passes/target/Bodies.h"
#include "passes/target/GroupReduction.h"
#include "passes/target/IterationSpace.h"
#include "passes/target/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {
#define GEN_PASS_DEF_MAPTOTHREADSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Whether `op`, or an op inside of it, may have one of these effects; an op
/// that does not say may have all.
template <typename... Effects>
static bool mayHave(Operation &op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(&op);
  return !effects ||
         llvm::any_of(*effects, [](MemoryEffects::EffectInstance &effect) {
           return isa<Effects...>(effect.getEffect());
         });
}

static bool mayRead(Operation &op) { return mayHave<MemoryEffects::Read>(op); }

static bool mayWrite(Operation &op) {
  return mayHave<MemoryEffects::Write, MemoryEffects::Free>(op);
}

/// Whether a parallel loop holds one that reduces.
static bool hasReduction(scf::ParallelOp loop) {
  return llvm::any_of(
      loop.getBody()->getOps<scf::ParallelOp>(),
      [](scf::ParallelOp inner) { return inner.getNumReductions() != 0; });
}

static bool hasParallelLoop(Operation &op) {
  return op.walk([](scf::ParallelOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// One body
//===----------------------------------------------------------------------===//

namespace {
/// Makes the threads of a CTA share what a function does. All of them follow
/// its control flow and compute its scalars; iterations of parallel loops are
/// divided, and other writes are left to one thread. Barriers keep a write
/// apart from reads and writes before and after it.
class ThreadMapper {
public:
  ThreadMapper(func::FuncOp function, int64_t threads)
      : function(function), builder(function.getContext()), threads(threads) {}

  LogicalResult run();

private:
  LogicalResult mapBlock(Block &block);
  LogicalResult mapControlFlow(Operation &op);
  LogicalResult divide(scf::ParallelOp loop);
  LogicalResult divideAmongGroups(scf::ParallelOp loop);
  LogicalResult leaveToOne(Operation &op);
  void createBarrier(Location loc);
  void separate(Operation &op);

  func::FuncOp function;
  OpBuilder builder;
  int64_t threads;
  Value thread;
  /// Whether a thread may still read what another is about to write.
  bool isReading = false;
};
} // namespace

void ThreadMapper::createBarrier(Location loc) {
  gpu::BarrierOp::create(builder, loc);
  isReading = false;
}

/// Before a write: nobody reads any more what was there.
void ThreadMapper::separate(Operation &op) {
  builder.setInsertionPoint(&op);
  if (isReading)
    createBarrier(op.getLoc());
}

/// Consecutive threads take consecutive iterations, the last dimension fastest:
/// what they touch is side by side in a row-major buffer.
LogicalResult ThreadMapper::divide(scf::ParallelOp loop) {
  if (loop.getNumReductions() != 0)
    return loop.emitOpError("with a reduction cannot be divided among threads");
  separate(*loop);
  if (hasReduction(loop))
    return divideAmongGroups(loop);
  Location loc = loop.getLoc();
  IterationSpace space(builder, loop);
  Value stride = arith::ConstantIndexOp::create(builder, loc, threads);
  auto share = scf::ForOp::create(builder, loc, thread, space.size, stride);
  builder.setInsertionPointToStart(share.getBody());
  SmallVector<Value> variables =
      space.getVariables(builder, share.getInductionVar());
  inlineBody(builder, loop, share.getBody()->getTerminator(), variables);
  builder.setInsertionPointAfter(share);
  createBarrier(loc);
  loop.erase();
  return success();
}

/// Where there are fewer iterations than threads, a group of threads shares
/// what each of them reduces.
LogicalResult ThreadMapper::divideAmongGroups(scf::ParallelOp loop) {
  std::optional<GroupReduction> group = GroupReduction::match(loop, threads);
  if (!group)
    return loop.emitOpError(
        "cannot be divided among threads: a reduction in it does not begin "
        "with its neutral element, or comes after a write");
  group->map(builder, thread);
  builder.setInsertionPointAfter(loop);
  createBarrier(loop.getLoc());
  loop.erase();
  return success();
}

LogicalResult ThreadMapper::leaveToOne(Operation &op) {
  if (!op.use_empty())
    return op.emitOpError("writes and has results: it can neither be left to "
                          "one thread nor be done by all");
  separate(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      thread, zero);
  auto branch = scf::IfOp::create(builder, loc, leads, /*hasElse=*/false);
  op.moveBefore(branch.thenBlock()->getTerminator());
  builder.setInsertionPointAfter(branch);
  createBarrier(loc);
  return success();
}

/// Loops and branches that hold parallel loops: all threads go the same way.
LogicalResult ThreadMapper::mapControlFlow(Operation &op) {
  if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return op.emitOpError("holds a parallel loop, and may not be what all "
                          "threads do alike");
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      if (failed(mapBlock(block)))
        return failure();
      // The next time around begins with writes.
      separate(*block.getTerminator());
    }
  return success();
}

LogicalResult ThreadMapper::mapBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      result = divide(loop);
    else if (hasParallelLoop(op))
      result = mapControlFlow(op);
    else if (mayWrite(op))
      result = leaveToOne(op);
    else
      isReading |= mayRead(op);
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ThreadMapper::run() {
  Block &block = function.getBody().front();
  builder.setInsertionPointToStart(&block);
  thread =
      gpu::ThreadIdOp::create(builder, function.getLoc(), gpu::Dimension::x);
  if (failed(mapBlock(block)))
    return failure();
  separate(*block.getTerminator());
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct MapToThreadsPass : ark::impl::MapToThreadsPassBase<MapToThreadsPass> {
  using MapToThreadsPassBase::MapToThreadsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    MapToThreadsPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (failed(ThreadMapper(body, threads).run()))
        return signalPassFailure();
  }
};
} // namespace
