//===- AttentionColumnStages.cpp - Keys and values in shared memory -------===//

#include "passes/target/attention/AttentionColumns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

/// Divides the keys and the values of a stage among the threads. Threads that
/// are left over copy what other threads copy, too.
SmallVector<AttentionColumns::Chunk>
AttentionColumns::findChunks(Value thread) {
  SmallVector<Chunk> found;
  int64_t keys = shape.getStepKeys(), perRow = shape.depth / shape.width;
  int64_t count = keys * perRow, threads = shape.getThreads(), distance = 0;
  for (Value buffer : {attention.key, attention.value}) {
    for (int64_t first = 0; first < count; first += threads) {
      Value number = add(thread, first);
      if (first + threads > count)
        number = rem(number, count);
      Value row = div(number, perRow);
      found.push_back({buffer, row, mul(rem(number, perRow), shape.width),
                       add(row, distance)});
    }
    distance += keys;
  }
  return found;
}

/// Loads this thread's chunks of the keys from `first` on. Rows beyond the last
/// key are copies of the last key, which no step reads.
SmallVector<Value> AttentionColumns::loadStage(Value first) {
  Value last = arith::SubIOp::create(builder, length, index(1));
  return llvm::map_to_vector(chunks, [&](const Chunk &chunk) -> Value {
    Value row = arith::MinSIOp::create(builder, add(first, chunk.row), last);
    return vector::LoadOp::create(
        builder, VectorType::get(shape.width, element), chunk.buffer,
        ValueRange{row, chunk.column}, /*nontemporal=*/false,
        llvm::MaybeAlign(shape.width * kElementBits / 8));
  });
}

/// Stores chunks to the stage that begins at row `stage`.
void AttentionColumns::storeStage(ValueRange loaded, Value stage) {
  for (auto [chunk, elements] : llvm::zip(chunks, loaded))
    vector::StoreOp::create(builder, elements, buffers.stages,
                            ValueRange{add(stage, chunk.target), chunk.column},
                            /*nontemporal=*/false,
                            llvm::MaybeAlign(shape.width * kElementBits / 8));
}

/// Creates the steps up to `end`, which all warps execute together. The barrier
/// ends the stores of this stage, and the reads of the other one, which the
/// next step replaces.
void AttentionColumns::createStagedSteps(State &state, Value end) {
  // The previous loop may have left a stage that other warps read.
  gpu::BarrierOp::create(builder);
  int64_t keys = shape.getStepKeys();
  auto exists =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, end, index(0));
  auto type = VectorType::get(shape.width, element);
  auto first = scf::IfOp::create(
      builder, exists,
      [&](OpBuilder &nested, Location loc) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(nested.getInsertionBlock());
        scf::YieldOp::create(builder, loadStage(index(0)));
      },
      [&](OpBuilder &nested, Location loc) {
        Value zeros =
            arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type));
        scf::YieldOp::create(nested, loc,
                             SmallVector<Value>(chunks.size(), zeros));
      });
  SmallVector<Value> carried = state.flatten();
  llvm::append_range(carried, first.getResults());
  carried.push_back(index(0));
  auto loop = scf::ForOp::create(builder, index(0), end, index(keys), carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ValueRange values = loop.getRegionIterArgs();
    Value stage = values.back();
    state.assign(values.drop_back(chunks.size() + 1), countRows());
    storeStage(values.drop_back().take_back(chunks.size()), stage);
    SmallVector<Value> next =
        loadStage(add(loop.getInductionVar(), index(keys)));
    gpu::BarrierOp::create(builder);
    step(state,
         {buffers.stages, buffers.stages, stage, add(stage, index(keys))},
         loop.getInductionVar());
    SmallVector<Value> yielded = state.flatten();
    llvm::append_range(yielded, next);
    yielded.push_back(arith::SubIOp::create(builder, index(2 * keys), stage));
    scf::YieldOp::create(builder, yielded);
  }
  state.assign(loop.getResults().drop_back(chunks.size() + 1), countRows());
}
