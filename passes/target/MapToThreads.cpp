//===- MapToThreads.cpp - Parallel loops over the threads of a CTA --------===//

#include "lib/support/DimIndices.h"
#include "passes/target/Aliasing.h"
#include "passes/target/Bodies.h"
#include "passes/target/GroupReduction.h"
#include "passes/target/IterationSpace.h"
#include "passes/target/OpaqueNumber.h"
#include "passes/target/Passes.h"

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
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static bool mayWrite(Operation &op) {
  return llvm::any_of(getAccesses(&op),
                      [](const Access &access) { return access.writes; });
}

/// Whether a parallel loop holds one that reduces.
static bool hasReduction(scf::ParallelOp loop) {
  return llvm::any_of(
      loop.getBody()->getOps<scf::ParallelOp>(),
      [](scf::ParallelOp inner) { return inner.getNumReductions() != 0; });
}

/// Whether no register is left for what the vCTAs of a run have in common.
static bool sharesNothing(scf::ForOp vctas) {
  return vctas
      ->walk([](scf::ForallOp loop) {
        return fillsRegisters(loop) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether its iterations are shared out among threads already.
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
/// Makes the threads of a CTA share what a function does. All of them follow
/// its control flow and compute its scalars; iterations of parallel loops are
/// divided, and other writes are left to one thread. Where an op touches what
/// one before it writes, or writes what one before it reads, a barrier comes
/// between the two.
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
  LogicalResult divide(scf::ParallelOp loop);
  void beginAnew(scf::ForOp vctas);
  LogicalResult inlineMapped(scf::ForallOp loop);
  LogicalResult divideAmongGroups(scf::ParallelOp loop);
  LogicalResult leaveToOne(Operation &op);
  void separate(Operation &op, ArrayRef<Access> accesses, bool byOne = false);
  void finish(Operation *op);
  Value getFirstThread(Location loc, int64_t size);

  func::FuncOp function;
  OpBuilder builder;
  int64_t threads, warpSize;
  Value thread;
  /// What was touched since the last barrier, by all threads and by the one
  /// that other writes are left to.
  SmallVector<Access> pending, pendingOfOne;
  /// Threads that have work of their own since then: from 0 up to this one.
  int64_t busy = 0;
};
} // namespace

/// A barrier before `op`, if anything was touched before.
void ThreadMapper::finish(Operation *op) {
  if (pending.empty() && pendingOfOne.empty())
    return;
  builder.setInsertionPoint(op);
  gpu::BarrierOp::create(builder, op->getLoc());
  pending.clear();
  pendingOfOne.clear();
  busy = 0;
}

static bool anyConflict(ArrayRef<Access> earlier, ArrayRef<Access> later) {
  return llvm::any_of(later, [&](const Access &a) {
    return llvm::any_of(earlier,
                        [&](const Access &b) { return conflict(a, b); });
  });
}

/// A barrier before `op`, if it depends on anything that was touched before.
/// One thread alone keeps its own order.
void ThreadMapper::separate(Operation &op, ArrayRef<Access> accesses,
                            bool byOne) {
  if (anyConflict(pending, accesses) ||
      (!byOne && anyConflict(pendingOfOne, accesses)))
    finish(&op);
  builder.setInsertionPoint(&op);
  llvm::append_range(byOne ? pendingOfOne : pending, accesses);
}

/// The number of this thread for a loop of `size` iterations. Loops between two
/// barriers know nothing of each other: where they are short, each has threads
/// of its own, so that they wait for memory at the same time.
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

/// Consecutive threads take consecutive iterations, the last dimension fastest:
/// what they touch is side by side in a row-major buffer.
LogicalResult ThreadMapper::divide(scf::ParallelOp loop) {
  if (loop.getNumReductions() != 0)
    return loop.emitOpError("with a reduction cannot be divided among threads");
  separate(*loop, getAccesses(loop));
  if (hasReduction(loop))
    return divideAmongGroups(loop);
  Location loc = loop.getLoc();
  std::optional<int64_t> size = getSizeBound(loop);
  Value first = getFirstThread(loc, size.value_or(threads));
  IterationSpace space(builder, loop);
  Value stride = arith::ConstantIndexOp::create(builder, loc, threads);
  auto share = scf::ForOp::create(builder, loc, first, space.size, stride);
  builder.setInsertionPointToStart(share.getBody());
  SmallVector<Value> variables =
      space.getVariables(builder, share.getInductionVar());
  inlineBody(builder, loop, share.getBody()->getTerminator(), variables);
  loop.erase();
  return success();
}

/// Where there are fewer iterations than threads, a group of threads shares
/// what each of them reduces.
LogicalResult ThreadMapper::divideAmongGroups(scf::ParallelOp loop) {
  std::optional<GroupReduction> group =
      GroupReduction::match(loop, threads, warpSize);
  if (!group)
    return loop.emitOpError(
        "cannot be divided among threads: a reduction in it does not begin "
        "with its neutral element, or comes after a write");
  group->map(builder, thread);
  loop.erase();
  return success();
}

/// Has each vCTA compute all that it needs of its number and of the thread's,
/// which was read before the loop.
void ThreadMapper::beginAnew(scf::ForOp vctas) {
  Operation *cast = thread.getDefiningOp();
  Operation *read = cast->getOperand(0).getDefiningOp();
  cast->moveBefore(&vctas.getBody()->front());
  read->moveBefore(cast);
  builder.setInsertionPoint(read);
  Value number = vctas.getInductionVar();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : number.getUses())
    uses.push_back(&use);
  Value opaque = createOpaqueIndex(builder, vctas.getLoc(), number);
  for (OpOperand *use : uses)
    use->set(opaque);
}

/// A loop with an iteration for every thread. Where it needs most registers,
/// what was computed before and is used after it should take none.
LogicalResult ThreadMapper::inlineMapped(scf::ForallOp loop) {
  std::optional<int64_t> size;
  if (loop.getRank() == 1 && loop.isNormalized() && loop.getOutputs().empty())
    size = getConstantIntValue(loop.getMixedUpperBound().front());
  if (size != threads)
    return loop.emitOpError("has not one iteration for each of the ")
           << threads << " threads";
  separate(*loop, getAccesses(loop));
  loop.getBody()->getTerminator()->erase();
  bool needsRegisters = isCrowded(loop);
  if (needsRegisters)
    thread = createOpaqueThread(builder, loop.getLoc());
  IRRewriter(builder).inlineBlockBefore(loop.getBody(), loop, thread);
  builder.setInsertionPoint(loop);
  if (needsRegisters)
    thread = createOpaqueThread(builder, loop.getLoc());
  loop.erase();
  return success();
}

/// Whether a function, or one that it calls, tells threads apart or has them
/// meet: it is right only where all of them call it.
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
    return call.emitOpError("is of code for all threads of a CTA, and does not "
                            "say by '")
           << kCooperativeAttr << "' that they make it together";
  if (!op.use_empty())
    return op.emitOpError("writes and has results: it can neither be left to "
                          "one thread nor be done by all");
  separate(op, getAccesses(&op), /*byOne=*/true);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      thread, zero);
  auto branch = scf::IfOp::create(builder, loc, leads, /*hasElse=*/false);
  op.moveBefore(branch.thenBlock()->getTerminator());
  return success();
}

/// Keeps the read of a number where it is. Compilers would move it out of the
/// loop over vCTAs, and all that is computed from it, which then has to wait
/// for it before anything else is asked for. What a body computes itself stays
/// put, and lies in shared memory, where such a pointer would not lead.
static void pinNumber(OpBuilder &builder, memref::LoadOp load) {
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

/// Loops and branches that hold parallel loops: all threads go the same way.
LogicalResult ThreadMapper::mapControlFlow(Operation &op) {
  if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return op.emitOpError("holds a parallel loop, and may not be what all "
                          "threads do alike");
  separate(op, getAccesses(&op));
  SmallVector<Access> before = std::move(pending);
  SmallVector<Access> beforeOfOne = std::move(pendingOfOne);
  pending.clear();
  pendingOfOne.clear();
  scf::ForOp vctas = getVctaLoop(function);
  bool isAnew = &op == vctas && sharesNothing(vctas);
  Value outer = thread;
  if (isAnew)
    thread = createOpaqueThread(builder, op.getLoc());
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      if (failed(mapBlock(block)))
        return failure();
      // What comes next may be the same once more.
      finish(block.getTerminator());
      for (auto load :
           llvm::make_early_inc_range(block.getOps<memref::LoadOp>()))
        pinNumber(builder, load);
    }
  busy = 0;
  if (isAnew)
    beginAnew(vctas);
  thread = outer;
  // A run has one vCTA at least. Other barriers may not be met: what was
  // pending before still is.
  if (&op == vctas)
    return success();
  pending = std::move(before);
  pendingOfOne = std::move(beforeOfOne);
  return success();
}

/// Moves ops up to where nothing but what they depend on lies before them: work
/// that knows nothing of each other then lies between the same two barriers, so
/// that its loads are under way at the same time.
void ThreadMapper::arrange(Block &block) {
  // How many barriers come before an op, at least.
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
    // What holds barriers stays between what was before and after it.
    bool isFence = !isParallelLoop(&op) && hasParallelLoop(op);
    if (isFence)
      least = level = std::max(level, last + 1);
    last = std::max(last, level);
    levels[&op] = level;
    if (!accesses.empty())
      earlier.push_back({&op, std::move(accesses)});
    ops.push_back(&op);
  }
  // What is read for all comes first: the rest need not wait for it.
  llvm::SmallPtrSet<Operation *, 16> numbers;
  for (Operation *op : llvm::reverse(ops)) {
    bool isWanted = isa<memref::LoadOp>(op) ||
                    llvm::any_of(op->getUsers(), [&](Operation *user) {
                      return numbers.contains(user);
                    });
    if (isWanted && (isa<memref::LoadOp>(op) || isMemoryEffectFree(op)))
      numbers.insert(op);
  }
  for (unsigned level = 0; level <= last; ++level)
    for (bool isNumber : {true, false})
      for (Operation *op : ops)
        if (levels.lookup(op) == level && numbers.contains(op) == isNumber)
          op->moveBefore(block.getTerminator());
}

LogicalResult ThreadMapper::mapBlock(Block &block) {
  arrange(block);
  // What is read inside of the block is not known after it.
  Value outer = thread;
  auto restore = llvm::make_scope_exit([&] { thread = outer; });
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      result = divide(loop);
    else if (auto loop = dyn_cast<scf::ForallOp>(op))
      result = inlineMapped(loop);
    else if (hasParallelLoop(op))
      result = mapControlFlow(op);
    else if (mayWrite(op) && !isCooperative(&op))
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
  // The next body finds its memory free.
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
    for (func::FuncOp body : getBodies(getOperation()))
      if (failed(ThreadMapper(body, threads, warpSize).run()))
        return signalPassFailure();
  }
};
} // namespace
