//===- MapToThreads.cpp - Parallel loops over the threads of a CTA --------===//

#include "lib/support/DimIndices.h"
#include "passes/target/simt/GroupReduction.h"
#include "passes/target/simt/OpaqueNumber.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/simt/ThreadLoop.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/support/Warp.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_MAPTOTHREADSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static bool mayWrite(Operation &op) {
  return llvm::any_of(getAccesses(&op),
                      [](const Access &access) { return access.writes; });
}

/// Returns true if a parallel loop contains a reduction loop.
static bool hasReduction(scf::ParallelOp loop) {
  return llvm::any_of(
      loop.getBody()->getOps<scf::ParallelOp>(),
      [](scf::ParallelOp inner) { return inner.getNumReductions() != 0; });
}

/// Returns true if registers do not suffice for values that the vCTAs of a work
/// item share.
static bool hasFullPressure(scf::ForOp vctas) {
  return vctas
      ->walk([](scf::ForallOp loop) {
        return hasFullRegisterPressure(loop) ? WalkResult::interrupt()
                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true if the iterations of an op are already divided among threads.
static bool isMapped(Operation *op) { return isa<scf::ForallOp>(op); }

static bool isParallelLoop(Operation *op) {
  return isa<scf::ParallelOp>(op) || isMapped(op);
}

static bool hasParallelLoop(Operation &op) {
  return op
      .walk([](Operation *inner) {
        return isParallelLoop(inner) ? WalkResult::interrupt()
                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// One body
//===----------------------------------------------------------------------===//

namespace {
/// Divides the work of a function among the threads of a CTA. All threads
/// follow the control flow and compute its scalars. Iterations of parallel
/// loops are divided, and thread 0 executes other writes. A barrier separates
/// two ops if one of them writes memory that the other one accesses, unless
/// only thread 0 makes both accesses.
class ThreadMapper {
public:
  ThreadMapper(func::FuncOp function, int64_t threads, int64_t warpSize)
      : function(function), builder(function.getContext()), threads(threads),
        warpSize(warpSize) {}

  LogicalResult run();

private:
  void arrange(Block &block);
  LogicalResult mapBlock(Block &block);
  LogicalResult mapControlFlow(Operation &op);
  LogicalResult mapRegions(Operation &op);
  LogicalResult mapVctas(scf::ForOp vctas);
  LogicalResult divide(scf::ParallelOp loop);
  void rematerializeIds(scf::ForOp vctas);
  LogicalResult inlineMapped(scf::ForallOp loop);
  LogicalResult divideAmongGroups(scf::ParallelOp loop);
  LogicalResult leaveToOne(Operation &op);
  void separateReduction(scf::ParallelOp loop, const GroupReduction &group);
  void separate(Operation &op, ArrayRef<Access> accesses, bool byOne = false);
  void finish(Operation *op);
  Value getFirstThread(Location loc, int64_t size);

  func::FuncOp function;
  OpBuilder builder;
  int64_t threads, warpSize;
  Value thread;
  /// Accesses since the last barrier: those of all threads, and those of thread
  /// 0.
  SmallVector<Access> pending, pendingOfThreadZero;
  /// The number of threads, from thread 0 on, that have a loop since the last
  /// barrier.
  int64_t busy = 0;
};
} // namespace

/// Creates a barrier before `op` if there were accesses since the last barrier.
void ThreadMapper::finish(Operation *op) {
  if (pending.empty() && pendingOfThreadZero.empty())
    return;
  builder.setInsertionPoint(op);
  gpu::BarrierOp::create(builder, op->getLoc());
  pending.clear();
  pendingOfThreadZero.clear();
  busy = 0;
}

static bool anyConflict(ArrayRef<Access> earlier, ArrayRef<Access> later) {
  return llvm::any_of(later, [&](const Access &a) {
    return llvm::any_of(earlier,
                        [&](const Access &b) { return conflict(a, b); });
  });
}

/// Creates a barrier before `op` if it conflicts with an access since the last
/// barrier. Accesses of the same single thread need no barrier between them.
void ThreadMapper::separate(Operation &op, ArrayRef<Access> accesses,
                            bool byOne) {
  if (anyConflict(pending, accesses) ||
      (!byOne && anyConflict(pendingOfThreadZero, accesses)))
    finish(&op);
  builder.setInsertionPoint(&op);
  llvm::append_range(byOne ? pendingOfThreadZero : pending, accesses);
}

/// Returns the thread's index in a loop of `size` iterations. Loops between two
/// barriers are independent. Short loops run on different threads, so that
/// their memory latencies overlap.
Value ThreadMapper::getFirstThread(Location loc, int64_t size) {
  int64_t begin = busy;
  busy = llvm::alignTo(busy + size, warpSize);
  if (begin == 0)
    return thread;
  if (busy > threads) {
    busy = 0;
    return thread;
  }
  Value distance =
      arith::ConstantIndexOp::create(builder, loc, threads - begin);
  Value count = arith::ConstantIndexOp::create(builder, loc, threads);
  return arith::RemUIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, thread, distance),
      count);
}

/// Divides a parallel loop. Consecutive threads execute consecutive iterations,
/// the last dimension fastest, and hence access neighbours in a row-major
/// buffer.
LogicalResult ThreadMapper::divide(scf::ParallelOp loop) {
  if (loop.getNumReductions() != 0)
    return loop.emitOpError("with a reduction cannot be divided among threads");
  if (hasReduction(loop))
    return divideAmongGroups(loop);
  Location loc = loop.getLoc();
  std::optional<int64_t> size = getSizeBound(loop);
  SmallVector<Access> accesses = getAccesses(loop);
  // Thread 0 executes a single iteration if that saves a barrier.
  bool isNext = size == 1 && anyConflict(pendingOfThreadZero, accesses);
  separate(*loop, accesses, /*byOne=*/size == 1 && (isNext || busy == 0));
  Value first = isNext ? thread : getFirstThread(loc, size.value_or(threads));
  divideAmongThreads(builder, loop, first, threads);
  return success();
}

/// Separates a parallel loop with reductions from earlier accesses. The first
/// thread of the group writes the result of an iteration.
void ThreadMapper::separateReduction(scf::ParallelOp loop,
                                     const GroupReduction &group) {
  SmallVector<Access> accesses = getAccesses(loop);
  bool hasOneResult = getSizeBound(loop) == 1;
  if (!hasOneResult || group.copiesElement())
    return separate(*loop, accesses, /*byOne=*/hasOneResult);
  SmallVector<Access> reads, writes;
  for (const Access &access : accesses)
    (access.writes ? writes : reads).push_back(access);
  if (anyConflict(pending, accesses) || anyConflict(pendingOfThreadZero, reads))
    finish(loop);
  builder.setInsertionPoint(loop);
  llvm::append_range(pending, reads);
  llvm::append_range(pendingOfThreadZero, writes);
}

/// Divides a parallel loop with reductions. If there are fewer iterations than
/// threads, a group of threads shares each iteration.
LogicalResult ThreadMapper::divideAmongGroups(scf::ParallelOp loop) {
  std::optional<GroupReduction> group =
      GroupReduction::match(loop, threads, warpSize);
  if (!group)
    return loop.emitOpError(
        "cannot be divided among threads: a reduction in it does not begin "
        "with its neutral element, or comes after a write");
  separateReduction(loop, *group);
  group->map(builder, thread);
  loop.erase();
  return success();
}

/// Rematerialises the ids in every vCTA: reads the thread id inside of the
/// loop, and makes the index of the vCTA opaque to compilers.
void ThreadMapper::rematerializeIds(scf::ForOp vctas) {
  Operation *cast = thread.getDefiningOp();
  Operation *read = cast->getOperand(0).getDefiningOp();
  cast->moveBefore(&vctas.getBody()->front());
  read->moveBefore(cast);
  builder.setInsertionPoint(read);
  Value vcta = vctas.getInductionVar();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : vcta.getUses())
    uses.push_back(&use);
  Value opaque = createOpaqueIndex(builder, vctas.getLoc(), vcta);
  for (OpOperand *use : uses)
    use->set(opaque);
}

/// Inlines a loop with one iteration per thread. If the loop needs most
/// registers, the thread id is read again before and after it, so that values
/// derived from the id occupy no registers in the loop.
LogicalResult ThreadMapper::inlineMapped(scf::ForallOp loop) {
  std::optional<int64_t> size;
  if (loop.getRank() == 1 && loop.isNormalized() && loop.getOutputs().empty())
    size = getConstantIntValue(loop.getMixedUpperBound().front());
  if (size != threads)
    return loop.emitOpError("does not have one iteration for each of the ")
           << threads << " threads";
  separate(*loop, getAccesses(loop));
  loop.getBody()->getTerminator()->erase();
  bool needsRegisters = hasHighRegisterPressure(loop);
  if (needsRegisters)
    thread = createOpaqueThread(builder, loop.getLoc());
  IRRewriter(builder).inlineBlockBefore(loop.getBody(), loop, thread);
  builder.setInsertionPoint(loop);
  if (needsRegisters)
    thread = createOpaqueThread(builder, loop.getLoc());
  loop.erase();
  return success();
}

/// Returns true if a function, or one of its callees, reads the thread id or
/// synchronises threads. All threads have to call such a function.
static bool isForAllThreads(func::FuncOp function,
                            llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!seen.insert(function).second)
    return false;
  return function
      .walk([&](Operation *op) {
        bool isFound = isa<gpu::ThreadIdOp, gpu::BarrierOp, gpu::ShuffleOp>(op);
        if (auto call = dyn_cast<func::CallOp>(op))
          if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                  call, call.getCalleeAttr()))
            isFound |= isForAllThreads(callee, seen);
        return isFound ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isForAllThreads(func::CallOp call) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return callee && isForAllThreads(callee, seen);
}

LogicalResult ThreadMapper::leaveToOne(Operation &op) {
  if (auto call = dyn_cast<func::CallOp>(op); call && isForAllThreads(call))
    return call.emitOpError(
               "calls code for all threads of a CTA, but lacks the "
               "attribute '")
           << kCtaCollectiveAttr << "'";
  if (!op.use_empty())
    return op.emitOpError("writes memory and has results: neither a single "
                          "thread nor all threads can execute it");
  separate(op, getAccesses(&op), /*byOne=*/true);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      thread, zero);
  auto branch = scf::IfOp::create(builder, loc, leads, /*hasElse=*/false);
  op.moveBefore(branch.thenBlock()->getTerminator());
  return success();
}

/// Makes the load of a scalar volatile, which keeps compilers from moving the
/// load and its users out of the loop over vCTAs. The work item would otherwise
/// wait for this load before it issues other loads. Leaves loads of temporaries
/// as they are: compilers do not move these loads, and the volatile load needs
/// a pointer to global memory.
static void makeVolatile(OpBuilder &builder, memref::LoadOp load) {
  if (!load.getIndices().empty() ||
      load.getMemRef().getDefiningOp<memref::AllocaOp>() ||
      !load.getMemRefType().getLayout().isIdentity() ||
      !(load.getType().isSignlessInteger(32) ||
        load.getType().isSignlessInteger(64)))
    return;
  Location loc = load.getLoc();
  builder.setInsertionPoint(load);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      builder, loc, load.getMemRef());
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  Value pointer = LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), number);
  Value value = LLVM::LoadOp::create(builder, loc, load.getType(), pointer,
                                     /*alignment=*/0, /*isVolatile=*/true);
  load.replaceAllUsesWith(value);
  load.erase();
}

/// Maps the ops of all regions. The last op of each block is a barrier, since
/// the next iteration may access the same memory.
LogicalResult ThreadMapper::mapRegions(Operation &op) {
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      if (failed(mapBlock(block)))
        return failure();
      finish(block.getTerminator());
    }
  busy = 0;
  return success();
}

static void makeLoadsVolatile(Operation &op, OpBuilder &builder) {
  for (Region &region : op.getRegions())
    for (Block &block : region)
      for (auto load :
           llvm::make_early_inc_range(block.getOps<memref::LoadOp>()))
        makeVolatile(builder, load);
}

/// Returns true if a block has a barrier, and no op before the first barrier
/// conflicts with earlier accesses.
static bool beginsWithBarrier(Block &block, ArrayRef<Access> earlier) {
  for (Operation &op : block) {
    if (isa<gpu::BarrierOp>(op))
      return true;
    if (anyConflict(earlier, getAccesses(&op)))
      return false;
  }
  return false;
}

/// Maps the loop over vCTAs. A work item has at least one vCTA, so that all
/// threads reach the barriers of the loop. Such a barrier orders the loop after
/// earlier accesses if it comes before the first conflict.
LogicalResult ThreadMapper::mapVctas(scf::ForOp vctas) {
  SmallVector<Access> before = std::move(pending);
  llvm::append_range(before, pendingOfThreadZero);
  pending.clear();
  pendingOfThreadZero.clear();
  // The loop may use the same threads as work that a barrier separates from the
  // loop.
  if (anyConflict(before, getAccesses(vctas)))
    busy = 0;
  bool isAnew = hasFullPressure(vctas);
  Value outer = thread;
  if (isAnew) {
    // The op before the loop may have left the builder inside of it.
    builder.setInsertionPoint(vctas);
    thread = createOpaqueThread(builder, vctas.getLoc());
  }
  if (failed(mapRegions(*vctas)))
    return failure();
  if (!before.empty() && !beginsWithBarrier(*vctas.getBody(), before)) {
    builder.setInsertionPoint(vctas);
    gpu::BarrierOp::create(builder, vctas.getLoc());
  }
  makeLoadsVolatile(*vctas, builder);
  if (isAnew)
    rematerializeIds(vctas);
  thread = outer;
  return success();
}

/// Maps loops and branches that contain parallel loops. All threads must take
/// the same path. Barriers in such control flow may be skipped, so that earlier
/// accesses stay pending.
LogicalResult ThreadMapper::mapControlFlow(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op);
      loop && loop == getVctaLoop(function))
    return mapVctas(loop);
  if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return op.emitOpError("contains a parallel loop, but its control flow may "
                          "differ between threads");
  separate(op, getAccesses(&op));
  SmallVector<Access> before = std::move(pending);
  SmallVector<Access> beforeOfOne = std::move(pendingOfThreadZero);
  pending.clear();
  pendingOfThreadZero.clear();
  if (failed(mapRegions(op)))
    return failure();
  makeLoadsVolatile(op, builder);
  pending = std::move(before);
  pendingOfThreadZero = std::move(beforeOfOne);
  return success();
}

/// Moves ops up to the ops that they depend on. Independent work then shares an
/// interval between two barriers, so that its loads are in flight together.
void ThreadMapper::arrange(Block &block) {
  // The minimum number of barriers before an op.
  llvm::DenseMap<Operation *, unsigned> levels;
  SmallVector<std::pair<Operation *, SmallVector<Access>>> earlier;
  SmallVector<Operation *> ops;
  unsigned least = 0, last = 0;
  for (Operation &op : block.without_terminator()) {
    unsigned level = least;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp())
          level = std::max(level, levels.lookup(source));
    });
    SmallVector<Access> accesses = getAccesses(&op);
    for (auto &[other, touched] : earlier)
      if (anyConflict(touched, accesses))
        level = std::max(level, levels.lookup(other) + 1);
    // An op that contains barriers keeps its order with the ops around it.
    bool isFence = !isParallelLoop(&op) && hasParallelLoop(op);
    if (isFence)
      least = level = std::max(level, last + 1);
    last = std::max(last, level);
    levels[&op] = level;
    if (!accesses.empty())
      earlier.push_back({&op, std::move(accesses)});
    ops.push_back(&op);
  }
  // Scalar loads of all threads come first, so that other ops need not wait for
  // them.
  llvm::SmallPtrSet<Operation *, 16> scalarOps;
  for (Operation *op : llvm::reverse(ops)) {
    bool isWanted = isa<memref::LoadOp>(op) ||
                    llvm::any_of(op->getUsers(), [&](Operation *user) {
                      return scalarOps.contains(user);
                    });
    if (isWanted && (isa<memref::LoadOp>(op) || isMemoryEffectFree(op)))
      scalarOps.insert(op);
  }
  for (unsigned level = 0; level <= last; ++level)
    for (bool isScalar : {true, false})
      for (Operation *op : ops)
        if (levels.lookup(op) == level && scalarOps.contains(op) == isScalar)
          op->moveBefore(block.getTerminator());
}

LogicalResult ThreadMapper::mapBlock(Block &block) {
  arrange(block);
  // A thread id that is read inside of the block is not available after it.
  Value outer = thread;
  llvm::scope_exit restore([&] { thread = outer; });
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      result = divide(loop);
    else if (auto loop = dyn_cast<scf::ForallOp>(op))
      result = inlineMapped(loop);
    else if (hasParallelLoop(op))
      result = mapControlFlow(op);
    else if (mayWrite(op) && !isCtaCollective(&op))
      result = leaveToOne(op);
    else
      separate(op, getAccesses(&op));
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
  // The next body reuses the memory of this one.
  finish(block.getTerminator());
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
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation()))
      if (failed(ThreadMapper(body, threads, *warpThreads).run()))
        return signalPassFailure();
  }
};
} // namespace
