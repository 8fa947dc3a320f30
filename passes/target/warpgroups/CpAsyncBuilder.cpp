//===- CpAsyncBuilder.cpp - Matmul stages copied by cp.async --------------===//

#include "passes/target/warpgroups/CpAsyncBuilder.h"

#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kElementBytes = 2;

CpAsyncBuilder::CpAsyncBuilder(ImplicitLocOpBuilder &builder,
                               ArrayRef<MatmulTile> products,
                               const WarpgroupShape &shape, Value memory,
                               Value thread, int64_t threads)
    : ThreadCopyBuilder(builder, products, shape, memory, thread, threads,
                        kElementBytes),
      next(NextTile::match(
          thread.getParentRegion()->getParentOfType<func::FuncOp>(), products)),
      early(next ? shape.getEarlyStages() : 0) {}

/// Returns the bytes that this thread copies for a row of a stage, or nothing
/// if they exist for all threads. The instruction fills the other bytes of the
/// stage with zeros and does not read them. A branch instead could make ptxas
/// serialise `wgmma`.
Value CpAsyncBuilder::getCopiedBytes(const Source &source, int64_t rowOffset) {
  if (source.convolution)
    return getWindowBytes(*source.convolution, source.rows, rowOffset);
  if (!source.remaining)
    return {};
  auto bytes = [&](int64_t number) {
    return arith::ConstantIntOp::create(builder, number, 32);
  };
  if (source.major == Major::K) {
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt,
                              source.remaining, constant(rowOffset));
    return arith::SelectOp::create(builder, isThere, bytes(kLoadBytes),
                                   bytes(0));
  }
  // The rows of the operand lie across K, in panels.
  int64_t before = rowOffset / kStageDepth * kPanelElements;
  Value rest = arith::IndexCastOp::create(
      builder, builder.getI32Type(),
      multiply(
          arith::SubIOp::create(builder, source.remaining, constant(before)),
          kElementBytes));
  rest = arith::MaxSIOp::create(builder, rest, bytes(0));
  return arith::MinSIOp::create(builder, rest, bytes(kLoadBytes));
}

/// Returns the bytes of the windows that this thread copies for a row of a
/// stage of `stageRows` rows, or nothing if all of them exist for all threads.
/// A row of windows ends before the next whole copy, and the stage has whole
/// panels.
Value CpAsyncBuilder::getWindowBytes(const RowConvolution &convolution,
                                     int64_t stageRows, int64_t rowOffset) {
  auto [window, y, x] = getWindow(convolution, rowOffset);
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, value, 32);
  };
  bool isClipped = convolution.getProductColumns() != stageRows;
  bool endsEarly = convolution.getPitch() != convolution.columns;
  if (!isClipped && !endsEarly)
    return {};
  Value bytes = number(kLoadBytes);
  if (endsEarly) {
    Value rest = arith::SubIOp::create(
        builder, number(convolution.columns * kElementBytes),
        arith::MulIOp::create(builder, x, number(kElementBytes)));
    bytes = arith::MinSIOp::create(builder, rest, bytes);
  }
  if (!isClipped)
    return bytes;
  Value isThere =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, window,
                            number(convolution.getProductColumns()));
  return arith::SelectOp::create(builder, isThere, bytes, number(0));
}

/// Issues copies of the elements from `k` on.
void CpAsyncBuilder::copy(ArrayRef<Source> from, Value k, Value stage) {
  Value target = add(stage, getTarget());
  int64_t rowsAtOnce = getRowsAtOnce(threads), rows = 0;
  for (const Source &source : from) {
    for (int64_t rowOffset = 0; rowOffset < source.copiedRows;
         rowOffset += rowsAtOnce) {
      OpBuilder::InsertionGuard guard(builder);
      if (source.copiedRows - rowOffset < rowsAtOnce) {
        Value isThere =
            arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, copiedRow,
                                  constant(source.copiedRows - rowOffset));
        auto branch =
            scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
        builder.setInsertionPoint(branch.thenBlock()->getTerminator());
      }
      Value distance = getDistance(source, k, rowOffset);
      Value to = add(target, constant((rows + rowOffset) * kStageRowBytes));
      NVVM::CpAsyncOp::create(builder, createOffset(builder, shared, to),
                              createOffset(builder, source.pointer, distance),
                              kLoadBytes, NVVM::LoadCacheModifierKind::CG,
                              getCopiedBytes(source, rowOffset));
    }
    rows += source.rows;
  }
}

/// Returns the offset of the stage of number `number` in a tile. The stages
/// that are copied early lie behind the accumulators.
Value CpAsyncBuilder::getStage(int64_t number) {
  return constant((shape.stages - early + number) % shape.stages *
                  shape.getStageBytes());
}

/// Issues copies of the stages from `begin` to `end` of a tile.
void CpAsyncBuilder::copyFirst(ArrayRef<Source> from, int64_t begin,
                               int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    copy(from, constant(i * kStageDepth), getStage(i));
    NVVM::CpAsyncCommitGroupOp::create(builder);
  }
}

void CpAsyncBuilder::createIf(Value condition, function_ref<void()> build) {
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  build();
}

/// Issues the early copies of the next tile.
void CpAsyncBuilder::copyNextTile() {
  createIf(next->exists(builder), [&] {
    SmallVector<StagedOperand> operands = getOperands();
    SmallVector<Value> buffers;
    for (const StagedOperand &operand : operands)
      buffers.push_back(operand.buffer);
    buffers = next->getTiles(builder, buffers);
    for (auto [operand, buffer] : llvm::zip(operands, buffers))
      operand.buffer = buffer;
    copyFirst(getSources(operands), 0, early);
  });
}

/// Creates the loop over all stages of a tile, which copies the stages after
/// the first ones. Warpgroups that multiply return their accumulators. The
/// instructions of a stage are issued while the instructions of the stages
/// behind it may still run. The next copy therefore writes to the stage before
/// these: all warpgroups have completed its instructions.
SmallVector<Value> CpAsyncBuilder::createSteps(bool multiplies) {
  int64_t bytes = shape.getStageBytes(), ahead = shape.getStagesAhead();
  SmallVector<Value> inits;
  if (multiplies)
    inits = createAccumulators();
  size_t numAccumulators = inits.size();
  inits.push_back(getStage(0));
  inits.push_back(getStage(ahead));
  Value end = constant(getDepth());
  auto loop = scf::ForOp::create(builder, constant(0), end,
                                 constant(kStageDepth), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    Value &stage = carried[numAccumulators], &free = carried.back();
    waitForStageCopies(builder, ahead - 1);
    if (multiplies) {
      Value offset = arith::IndexCastOp::create(builder, builder.getI64Type(),
                                                divide(stage, kDescriptorUnit));
      startStage(offset, MutableArrayRef(carried).take_front(numAccumulators));
    }
    Value later = add(loop.getInductionVar(), constant(ahead * kStageDepth));
    createIf(
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, later, end),
        [&] { copy(sources, later, free); });
    NVVM::CpAsyncCommitGroupOp::create(builder);
    if (multiplies)
      NVVM::WgmmaWaitGroupSyncOp::create(builder, shape.stagesBehind);
    for (Value *offset : {&stage, &free})
      *offset = wrap(add(*offset, constant(bytes)), shape.stages * bytes);
    scf::YieldOp::create(builder, carried);
  }
  if (multiplies)
    NVVM::WgmmaWaitGroupSyncOp::create(builder, 0);
  return SmallVector<Value>(loop.getResults().take_front(numAccumulators));
}

/// Builds the stages of a tile for warpgroups that multiply and store to
/// `buffers`, or for warpgroups that only copy.
void CpAsyncBuilder::buildStages(bool multiplies, ValueRange buffers) {
  SmallVector<Value> accumulators = createSteps(multiplies);
  // The accumulators overwrite stages that other warpgroups may still read.
  gpu::BarrierOp::create(builder);
  if (early > 0)
    copyNextTile();
  storeAll(accumulators, buffers);
}

/// If half of the warpgroups multiply, the other half has a loop of its own:
/// ptxas serialises `wgmma` instructions in branches within a loop, and
/// accumulators that leave a branch take twice the registers.
void CpAsyncBuilder::build(ValueRange buffers) {
  if (early > 0)
    createIf(next->isFirst(builder), [&] { copyFirst(sources, 0, early); });
  copyFirst(sources, early, shape.getStagesAhead());
  if (shape.getOwners() == shape.groups)
    return buildStages(/*multiplies=*/true, buffers);
  auto branch = scf::IfOp::create(builder, isOwner(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  buildStages(/*multiplies=*/true, buffers);
  builder.setInsertionPointToStart(branch.elseBlock());
  buildStages(/*multiplies=*/false, buffers);
}
