//===- AttentionColumnCopies.cpp - Stages that copies fill ----------------===//

#include "passes/target/attention/AttentionColumns.h"

#include "lib/backend/GpuInstructions.h"
#include "passes/target/memory_access/SpacePointer.h"
#include "passes/target/memory_access/WarpCopy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

/// Rows that eight threads read at once.
static constexpr int64_t kGroupRows = 8;

/// Returns the place of a chunk in its row. Rows of every second group have
/// their halves swapped, so that two groups reach different banks of 64.
Value AttentionColumns::getPlace(Value row, Value chunk) {
  int64_t half = shape.depth / shape.width / 2;
  Value key = mul(rem(div(row, kGroupRows), 2), half);
  return arith::XOrIOp::create(builder, chunk, key);
}

/// Divides the keys and the values of a stage among the copies of the warps.
SmallVector<AttentionColumns::Copy> AttentionColumns::findCopies(Value thread) {
  SmallVector<Copy> found;
  int64_t perRow = shape.depth / shape.width, keys = shape.getStepKeys();
  int64_t count = keys / shape.getRowsPerCopy();
  int64_t perWarp = count / shape.warps, distance = 0;
  Value memory = createSpacePointer(builder, buffers.stages, kSharedSpace);
  Value ownWarp = div(thread, shape.getWarpSize());
  Value slot = div(inWarp, perRow), place = rem(inWarp, perRow);
  for (Value buffer : {attention.key, attention.value}) {
    for (int64_t i = 0; i < perWarp; ++i) {
      Value number = add(mul(ownWarp, perWarp), i);
      Value row = arith::AddIOp::create(builder, mul(slot, count), number);
      Value target = createOffset(
          builder, memory, mul(add(number, distance), shape.getCopyPitch()));
      found.push_back({buffer, row, mul(getPlace(row, place), shape.width),
                       getGpuInstructions(builder).createWarpPointer(
                           builder, builder.getLoc(), target)});
    }
    distance += count;
  }
  return found;
}

/// Copies the keys and values from `first` on to the stage that begins after
/// `bytes`. Rows beyond the last key are copies of the last key, which no step
/// reads.
void AttentionColumns::copyStage(Value first, Value bytes) {
  Value last = arith::SubIOp::create(builder, length, index(1));
  for (const Copy &copy : copies) {
    Value row = arith::MinSIOp::create(
        builder, arith::AddIOp::create(builder, first, copy.row), last);
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, copy.buffer);
    Value elements = arith::AddIOp::create(
        builder,
        arith::MulIOp::create(builder, row, metadata.getStrides().front()),
        copy.column);
    Value source = createOffset(
        builder, createSpacePointer(builder, copy.buffer, kGlobalSpace),
        mul(elements, kElementBits / 8));
    createWarpCopy(builder, source, createOffset(builder, copy.target, bytes),
                   /*bytes=*/0);
  }
}

/// Reads neighbouring columns of a row of the keys or values at `stage`.
Value AttentionColumns::readStage(Value stage, Value row, Value column,
                                  int64_t columns) {
  int64_t count = shape.getStepKeys() / shape.getRowsPerCopy();
  int64_t elementBytes = kElementBits / 8,
          rowBytes = shape.depth * elementBytes;
  Value place = getPlace(row, div(column, shape.width));
  Value inRow = arith::AddIOp::create(builder, mul(place, shape.width),
                                      rem(column, shape.width));
  Value bytes = arith::AddIOp::create(
      builder, mul(rem(row, count), shape.getCopyPitch()),
      arith::AddIOp::create(builder, mul(div(row, count), rowBytes),
                            mul(inRow, elementBytes)));
  auto load = LLVM::LoadOp::create(builder, VectorType::get(columns, element),
                                   createOffset(builder, stage, bytes),
                                   columns * elementBytes);
  ignoreWarpCopies(load);
  return load;
}

/// Creates the steps up to `end`, which all warps execute together. The wait
/// and the barrier end the copies of this stage, and the reads of the stage
/// before, which the copies of a later step replace.
void AttentionColumns::createCopiedSteps(State &state, Value end) {
  // The previous loop may have left a stage that other warps read.
  gpu::BarrierOp::create(builder);
  int64_t keys = shape.getStepKeys(), ahead = shape.keyStages - 1;
  int64_t bytes = shape.getKeyStageBytes();
  auto exists =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, end, index(0));
  auto first = scf::IfOp::create(builder, exists, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(first.thenBlock()->getTerminator());
    // A wait for all but the copies of one stage needs the stages in order.
    for (int64_t i = 0; i < ahead; ++i) {
      copyStage(index(i * keys), index(i * bytes));
      getGpuInstructions(builder).keepOrder(builder, builder.getLoc());
    }
  }
  // The stages of this step and of the copies, in bytes.
  SmallVector<Value> carried = state.flatten();
  carried.append({index(0), index(ahead * bytes)});
  auto loop = scf::ForOp::create(builder, index(0), end, index(keys), carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ValueRange values = loop.getRegionIterArgs();
    Value stage = values.drop_back().back(), next = values.back();
    state.assign(values.drop_back(2), countRows());
    createCopyBarrier(builder, (ahead - 1) * copies.size());
    copyStage(add(loop.getInductionVar(), ahead * keys), next);
    Value memory = createSpacePointer(builder, buffers.stages, kSharedSpace);
    Value ofKeys = createOffset(builder, memory, stage);
    Value ofValues = createOffset(builder, ofKeys, index(bytes / 2));
    step(state,
         {/*keys=*/Value(), /*values=*/Value(), index(0), index(0),
          Stage{ofKeys, ofValues}},
         loop.getInductionVar());
    // The stage of the copies follows that of this step, in a circle.
    Value isLast = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                         stage, index(ahead * bytes));
    SmallVector<Value> yielded = state.flatten();
    yielded.push_back(
        arith::SelectOp::create(builder, isLast, index(0), add(stage, bytes)));
    yielded.push_back(stage);
    scf::YieldOp::create(builder, yielded);
  }
  state.assign(loop.getResults().drop_back(2), countRows());
  // Copies for steps that do not exist end before the memory is used again.
  waitForWarpCopies(builder, 0);
}
