//===- CopiedLoops.cpp - Products of stages that copies fill --------------===//

#include "passes/target/matmul/StoredBuilder.h"

#include "passes/target/memory_access/WarpCopy.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

/// Multiplies the stage in buffer `stage`, while the copies of `inFlight` later
/// stages may be in flight. The barrier ends the copies of this stage by other
/// warps, and the reads of the stage before, whose buffer `copy` fills. Reads
/// of a slice run ahead of the multiplication by one slice.
void StoredBuilder::runCopiedStage(int64_t stage, int64_t inFlight,
                                   llvm::function_ref<void()> copy) {
  createCopyBarrier(builder, inFlight * stages.countCopies());
  int64_t slices = countSlices();
  Slice next = readSlice(stage, 0);
  if (copy)
    copy();
  keepOrder();
  for (int64_t slice = 0; slice < slices; ++slice) {
    Slice current = next;
    if (slice + 1 < slices) {
      next = readSlice(stage, slice + 1);
      keepOrder();
    }
    for (int64_t step = 0; step < countSteps(); ++step)
      multiply(current, step);
  }
  keepOrder();
}

/// Multiplies rounds of stages in a loop. A round has one stage for each
/// buffer, so that addresses of shared memory are constant.
void StoredBuilder::runCopiedRounds(int64_t rounds) {
  int64_t depth = shape.stageDepth, ahead = shape.buffers - 1;
  std::optional<StoredStages::Cursor> cursor =
      stages.createCursor(ahead * depth);
  runLoop(cursor, rounds, shape.buffers * depth, [&](Value k) {
    for (int64_t stage = 0; stage < shape.buffers; ++stage)
      runCopiedStage(stage, ahead - 1, [&] {
        int64_t buffer = (stage + ahead) % shape.buffers;
        if (cursor)
          stages.copy(*cursor, stage * depth, buffer);
        else
          stages.copy(add(k, (ahead + stage) * depth), buffer);
      });
  });
}

void StoredBuilder::runCopiedStages() {
  int64_t depth = shape.stageDepth, last = shape.numStages - 1;
  int64_t ahead = shape.buffers - 1;
  // A wait for all but the copies of one stage needs the stages in order.
  for (int64_t i = 0; i < std::min(ahead, shape.numStages); ++i) {
    stages.copy(constant(i * depth), i);
    keepOrder();
  }
  int64_t rounds =
      std::max<int64_t>(shape.numStages - ahead, 0) / shape.buffers;
  if (rounds > 0)
    runCopiedRounds(rounds);
  for (int64_t i = rounds * shape.buffers; i <= last; ++i) {
    auto copy = [&] {
      stages.copy(constant((i + ahead) * depth), (i + ahead) % shape.buffers);
    };
    runCopiedStage(i % shape.buffers, std::min(ahead - 1, last - i),
                   i + ahead <= last ? llvm::function_ref<void()>(copy)
                                     : nullptr);
  }
  // The next tile overwrites the stages.
  gpu::BarrierOp::create(builder);
}
