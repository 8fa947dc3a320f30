//===- WarpgroupLoops.h - wgmma products of a CTA ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPLOOPS_H
#define ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPLOOPS_H

#include "passes/target/matrix_units/MatmulTile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Bytes of the two mbarriers of a stage that TMA fills.
inline constexpr int64_t kStageBarrierBytes = 16;
/// Bytes of the record of an operand that TMA copies.
inline constexpr int64_t kOperandRecordBytes = 32;
/// With at most this number of stages, copied by threads, all instructions of a
/// stage end before those of the next stage begin. Two copies are then in
/// flight; overlapping instructions would leave only one.
inline constexpr int64_t kFewStages = 3;

/// Selects the products whose stages are copied by TMA.
enum class TensorMapUse { Never, WhereFaster, Always };

/// The division of products with the same operand A among warpgroups of four
/// warps. Both operands are copied to shared memory in stages of 64 elements of
/// K. A warpgroup multiplies 64 rows of operand A by its share of the columns
/// of every product.
struct WarpgroupShape {
  /// Returns nothing if the columns cannot be divided evenly, if a clipped
  /// operand has f32 elements, or if the stages need more than `room` bytes of
  /// shared memory. Rows are padded to a multiple of a warpgroup's rows, and
  /// columns to a multiple of a panel's.
  static std::optional<WarpgroupShape> choose(ArrayRef<MatmulTile> products,
                                              MmaAttr mma, int64_t threads,
                                              int64_t room, TensorMapUse maps);

  /// The instruction of a warpgroup.
  MmaAttr mma;

  /// Rows of operand A, and columns of every product. If an operand has fewer
  /// of them, the stages hold zeros or arbitrary numbers in the others, which
  /// affect only results that nothing reads.
  int64_t rows, columns;
  int64_t numProducts;
  /// Warpgroups of the CTA, and numbers of owners down and across the result.
  /// An owner stores results. Other warpgroups only copy, or compute the same
  /// elements of the result again and do not store them.
  int64_t groups, down, across;
  int64_t stages;
  /// The number of stages whose instructions may still run when those of the
  /// next stage begin. It is zero for few stages that threads copy: copies of
  /// another stage hide more time. It is one for stages that TMA copies.
  int64_t stagesBehind;
  /// bf16 terms of an element in a stage; 1 if operands are not split.
  int64_t terms;
  /// The type of accumulators in shared memory.
  FloatType accumulator;
  /// True if one thread per operand issues TMA copies; otherwise all threads
  /// copy.
  bool hasMaps;

  /// Stores accumulators in a type of 16 bits, to which all readers round them.
  /// Does nothing without such a type. Splits of operands need f32.
  void roundAccumulators(FloatType type);

  int64_t getOwners() const { return down * across; }
  /// Returns true if warpgroups that are not owners only copy.
  bool canCopyOnly() const { return terms == 1 && !hasMaps; }
  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  int64_t getGroupThreads() const { return mma.getWarps() * getWarpSize(); }
  /// Returns the rows of a warpgroup, and those of each of its warps.
  int64_t getGroupRows() const { return mma.getM(); }
  int64_t getWarpRows() const { return mma.getM() / mma.getWarps(); }
  /// Returns the number of accumulators of a thread for one product.
  int64_t getAccumulatorsPerThread() const {
    return getGroupColumns() * getGroupRows() / getGroupThreads();
  }
  int64_t getGroupColumns() const { return columns / across; }
  /// Returns the bytes of one term of all elements of a stage. The terms follow
  /// one another.
  int64_t getTermBytes() const;
  int64_t getStageBytes() const { return terms * getTermBytes(); }
  /// Returns the number of stages that are copied while others are multiplied.
  int64_t getStagesAhead() const { return stages - 1 - stagesBehind; }
  /// Returns the stages, the last ones in memory, that threads may fill for the
  /// next tile while they store and read the accumulators of this one.
  int64_t getEarlyStages() const;
  /// Returns the offset of the operands' records. The records follow the
  /// stages, whose memory the accumulators reuse.
  int64_t getRecordsBegin() const;
  int64_t getBarriersBegin() const;
  int64_t getBytes() const;
};

/// Builds the loops of all threads at the insertion point. Returns one buffer
/// per product, which the loops fill with accumulators. The buffers are views
/// of one temporary.
SmallVector<Value> createWarpgroupLoops(ImplicitLocOpBuilder &builder,
                                        ArrayRef<MatmulTile> products,
                                        const WarpgroupShape &shape,
                                        int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_WARPGROUPLOOPS_H
