//===- GroupReduction.h - Reductions by groups of threads -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_GROUPREDUCTION_H
#define ARK_PASSES_TARGET_SIMT_GROUPREDUCTION_H

#include "passes/target/simt/ThreadReduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// A parallel loop with reductions in which a group of threads shares each
/// iteration. Every thread reduces its share. Then the threads of a warp
/// combine their values, and finally the warps of the group.
class GroupReduction {
public:
  /// Returns nothing if a reduction does not begin with its neutral element, or
  /// if an op writes before the last reduction.
  static std::optional<GroupReduction> match(scf::ParallelOp loop,
                                             int64_t threads, int64_t warpSize);

  /// Returns true if the loop has one iteration, which reduces one element.
  /// Then only thread 0 executes it, without shuffles and warp barriers.
  bool copiesElement() const;

  /// Builds the loop of one thread before the parallel loop, and moves the body
  /// of the parallel loop into it.
  void map(OpBuilder &builder, Value thread);

private:
  GroupReduction(scf::ParallelOp loop, SmallVector<ThreadReduction> reductions,
                 int64_t threads, int64_t warpSize);

  int64_t chooseGroupThreads() const;
  bool needsWarp(OpBuilder &builder) const;
  void exchange(OpBuilder &builder, const ThreadReduction &reduction,
                MutableArrayRef<Value> values);
  void exchangeWarps(OpBuilder &builder, const ThreadReduction &reduction,
                     MutableArrayRef<Value> values);
  void mapReductions(OpBuilder &builder, Value inGroup);

  scf::ParallelOp loop;
  SmallVector<ThreadReduction> reductions;
  int64_t threads, warpSize;
  /// Threads per group, a power of two.
  int64_t groupThreads;
  /// The id of the current thread.
  Value thread;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_GROUPREDUCTION_H
