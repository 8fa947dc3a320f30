//===- StoredLoops.h - Products of stages that threads store ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H
#define ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H

#include "passes/target/matmul/ProductEpilogue.h"

namespace mlir::ark {

/// The division of a product among the warps of a CTA, on a GPU without
/// asynchronous copies. Threads load stages of both operands from global
/// memory to registers, and store them to shared memory, where the warps read
/// them. Each warp multiplies its share of the rows by its share of the
/// columns.
struct StoredShape {
  /// Chooses one of the instructions, and the shares with the fewest reads of
  /// shared memory. Returns nothing if the operands cannot be staged, if a
  /// warp would have no share, or if the stages need more than `room` bytes.
  static std::optional<StoredShape> choose(const MatmulTile &product,
                                           ArrayRef<MmaAttr> instructions,
                                           int64_t threads, int64_t room);

  MmaAttr mma;
  int64_t threads;
  /// Warps down and across the result.
  int64_t down, across;
  /// Instructions of a warp: blocks of rows, and units of columns.
  int64_t blocks, units;
  /// Elements of K of a stage, and the number of stages.
  int64_t stageDepth, numStages;

  int64_t getElementBytes() const { return mma.getOperandBits() / 8; }
  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  int64_t getRows() const { return down * blocks * mma.getN(); }
  int64_t getColumns() const { return across * units * mma.getM(); }
  /// Returns the bytes of one of the two stages in shared memory.
  int64_t getStageBytes() const;
  int64_t getBytes() const { return 2 * getStageBytes(); }
};

/// Builds the loops of all threads at the insertion point. Accumulators go
/// through the epilogue, or are added to the result in memory without one.
void createStoredLoops(ImplicitLocOpBuilder &builder, const MatmulTile &product,
                       const StoredShape &shape,
                       const ProductEpilogue *epilogue);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H
