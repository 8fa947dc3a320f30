//===- AttentionLoops.h - Attention by the warps of a CTA -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H

#include "passes/target/attention/AttentionOps.h"

#include "dialects/ark/ArkAttrs.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/target/matrix_units/SwizzledStage.h"

namespace mlir::ark {

/// The division of an attention among threads. With few rows, all warps share
/// the keys. More rows are divided into blocks with as many rows as an
/// instruction has; `warpsPerBlock` warps share the keys of each block. Blocks
/// of warpgroups share stages of keys and values in shared memory.
///
/// Query columns: if a thread holds accumulators of one column, the columns of
/// an instruction are queries, and its rows are keys. Blocks then have as many
/// queries as one or several instructions have columns, also if there are few.
struct AttentionShape {
  /// Chooses one of the instructions. Returns nothing if the fragments or the
  /// types are not supported, if the attention cannot be divided among the
  /// threads, or if it needs too much shared memory. `longestWorkItem` is the
  /// largest number of vCTAs of a work item; it does not affect whether a shape
  /// is returned.
  static std::optional<AttentionShape> choose(const AttentionOps &attention,
                                              ArrayRef<MmaAttr> instructions,
                                              int64_t threads,
                                              int64_t longestWorkItem);

  /// Returns the shape for warpgroups with the instruction `mma`. Returns
  /// nothing if the number of warpgroups is no multiple of the number of
  /// blocks, if the rows do not fill more than half of a block, or if the
  /// stages do not fit into `room` bytes of shared memory.
  static std::optional<AttentionShape>
  chooseWarpgroups(const AttentionOps &attention, MmaAttr mma, int64_t threads,
                   int64_t room);

  /// Returns the bytes of shared memory: for the warps' partial results, or for
  /// the queries and the stages of warpgroups.
  int64_t getBytes() const;

  int64_t getThreads() const { return teams * warps * getWarpSize(); }
  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  /// Returns the query rows of a block.
  int64_t getBlockRows() const {
    return hasQueryColumns() ? queryColumns * mma.getN() : mma.getM();
  }
  /// Returns the columns of an instruction.
  int64_t getTileColumns() const { return mma.getN(); }
  /// Returns true if the rows fit into the columns of an instruction.
  bool hasFewRows() const {
    return !hasQueryColumns() && rows <= getTileColumns();
  }
  /// Returns true if a second loop combines partial results of a row.
  bool hasPartialResults() const { return warpsPerBlock > 1 || hasFewRows(); }
  int64_t getBlocks() const {
    return (rows + getBlockRows() - 1) / getBlockRows();
  }
  /// Returns the number of keys of a block that a warp processes per step.
  int64_t getStepKeys() const {
    return hasQueryColumns() ? std::max<int64_t>({32, mma.getM(), mma.getK()})
                             : (depth <= 32 ? 2 : 1) * mma.getK();
  }

  bool hasQueryColumns() const { return queryColumns > 0; }

  bool hasWarpgroups() const { return stages > 0; }
  /// Returns the rows of a block that belong to one of its warps.
  int64_t getWarpRows() const { return mma.getM() / mma.getWarps(); }
  /// Returns the keys of a stage that one warpgroup processes.
  int64_t getGroupKeys() const { return kStageDepth; }
  int64_t getStageKeys() const { return keyGroups * getGroupKeys(); }
  int64_t getGroupThreads() const { return mma.getWarps() * getWarpSize(); }
  /// Returns the number of keys of a stage whose scores a thread holds at once.
  /// The number is smaller for a large depth, because the registers also hold
  /// the accumulators of the depth.
  int64_t getPassKeys() const {
    return depth > kPanelElements ? kStageDepth / 2 : kStageDepth;
  }
  /// Returns the bytes of all queries, of the keys or values of a warpgroup in
  /// a stage, and of both together.
  int64_t getQueryBytes() const;
  int64_t getTileBytes() const;
  int64_t getGroupBytes() const { return 2 * getTileBytes(); }
  int64_t getStageBytes() const { return keyGroups * getGroupBytes(); }
  /// Returns the number of f32 values of a thread's partial result, and the
  /// bytes of those that warpgroups exchange.
  int64_t getPartialValues() const;
  int64_t getPartialBytes() const;
  /// Returns the elements from a row of the partial results of a warp to the
  /// next one. If the threads of a warp have queries of their own, they store
  /// 16 bytes of neighbouring rows at once, which padding moves to other banks.
  int64_t getPartialPitch() const;

  MmaAttr mma;
  /// Warps that share a vCTA, and the number of teams of this many warps.
  /// Different teams process different vCTAs.
  int64_t warps = 0, teams = 1;
  /// Warps that share the keys of a block, or of all rows if there are few.
  int64_t warpsPerBlock = 0;
  int64_t rows = 0, depth = 0;
  /// Elements per load.
  int64_t width = 0;
  /// Stages of keys and values in shared memory; zero without warpgroups.
  int64_t stages = 0;
  /// Number of warpgroups that share the keys of a block. Surplus warpgroups
  /// duplicate the work and store nothing.
  int64_t keyGroups = 1;
  /// Number of instructions whose columns are the queries of a block; zero if
  /// queries are rows.
  int64_t queryColumns = 0;
  /// Stages of keys and values in shared memory that all warps read, if queries
  /// are columns; otherwise zero.
  int64_t keyStages = 0;
  /// True if copies fill these stages, and not stores by threads.
  bool copiesKeys = false;

  /// Divides the keys among fewer warps until partial results of query columns
  /// fit into `room` bytes. Adds stages if every warp reads all keys, if all
  /// warps have equal numbers of blocks, and if the stages fit. `canCopy` is
  /// true if the GPU has loads to LDS.
  void useRoom(int64_t room, bool canCopy);
  /// Returns the bytes of the keys and values of one of these stages.
  int64_t getKeyStageBytes() const;
  /// Returns the rows that a copy of a warp writes.
  int64_t getRowsPerCopy() const;
  /// Returns the bytes from the rows of a copy to those of the next one. Unused
  /// bytes move them to other banks.
  int64_t getCopyPitch() const;

private:
  static std::optional<AttentionShape> chooseRows(const AttentionOps &attention,
                                                  MmaAttr mma, int64_t threads,
                                                  int64_t longestWorkItem);
  static std::optional<AttentionShape>
  chooseColumns(const AttentionOps &attention, MmaAttr mma, int64_t threads,
                int64_t longestWorkItem);
  bool setThreads(const AttentionOps &attention, int64_t threads);
  void divideBlocks(const AttentionOps &attention, int64_t longestWorkItem);
};

/// Returns true if the threads that hold accumulators of the product of queries
/// and keys can use these accumulators as an operand of the next product, and
/// if a thread holds two rows of an operand, which correspond to the two
/// columns in a word of values.
bool canReuseRowAccumulators(MmaAttr mma);

/// Builds the loops that replace an attention at the insertion point, for all
/// threads: a loop over the keys and, if there are partial results, a loop that
/// combines them.
void createAttentionLoops(ImplicitLocOpBuilder &builder,
                          const AttentionOps &attention,
                          const AttentionShape &shape);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H
