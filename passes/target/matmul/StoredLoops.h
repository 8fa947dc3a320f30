//===- StoredLoops.h - Products of stages that threads store ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H
#define ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H

#include "passes/target/matmul/ProductEpilogue.h"
#include "passes/target/memory_access/WideLoad.h"

namespace mlir::ark {

/// The division of a product among the warps of a CTA, on a GPU without
/// `cp.async`. Threads load stages of both operands from global memory to
/// registers, and store them to shared memory, where the warps read them. If
/// the GPU has loads to LDS, and the rows of both operands lie along K, copies
/// fill the stages instead. Each warp multiplies its share of the rows by its
/// share of the columns.
struct StoredShape {
  /// Chooses one of the instructions, and the shares with the fewest reads of
  /// shared memory. Returns nothing if the operands cannot be staged, if a
  /// warp would have no share, or if the stages need more than `room` bytes.
  /// `copyRoom` are the bytes for stages that copies fill, or zero if the GPU
  /// has no loads to LDS.
  static std::optional<StoredShape> choose(const MatmulTile &product,
                                           ArrayRef<MmaAttr> instructions,
                                           int64_t threads, int64_t room,
                                           int64_t copyRoom);

  MmaAttr mma;
  int64_t threads;
  /// Warps down and across the result.
  int64_t down, across;
  /// Instructions of a warp: blocks of rows, and units of columns.
  int64_t blocks, units;
  /// Elements of K of a stage, and the number of stages.
  int64_t stageDepth, numStages;
  /// True if copies fill the stages.
  bool copies;
  /// The number of stages that shared memory holds at once.
  int64_t buffers;

  int64_t getElementBytes() const { return mma.getOperandBits() / 8; }
  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  int64_t getRows() const { return down * blocks * mma.getN(); }
  int64_t getColumns() const { return across * units * mma.getM(); }
  /// Returns the bytes of a row of a stage, and its chunks of 16 bytes.
  int64_t getRowBytes() const { return stageDepth * getElementBytes(); }
  int64_t getChunksPerRow() const { return getRowBytes() / kLoadBytes; }
  /// Returns the bytes of one stage in shared memory.
  int64_t getStageBytes() const;
  int64_t getBytes() const { return buffers * getStageBytes(); }
};

/// Builds the loops of all threads at the insertion point. Accumulators go
/// through the epilogue, or are added to the result in memory without one.
void createStoredLoops(ImplicitLocOpBuilder &builder, const MatmulTile &product,
                       const StoredShape &shape,
                       const ProductEpilogue *epilogue);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_STOREDLOOPS_H
