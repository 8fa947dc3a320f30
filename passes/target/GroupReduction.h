//===- GroupReduction.h - Reductions that threads share ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_GROUPREDUCTION_H
#define ARK_PASSES_TARGET_GROUPREDUCTION_H

#include "passes/target/LaneReduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// A parallel loop with reducing ones inside, each iteration of which is done
/// by a group of threads. Every thread combines a share; then the threads of a
/// warp exchange what they have, and then its warps, where a group has several.
class GroupReduction {
public:
  /// Nothing, if a reduction does not begin with its neutral element, or
  /// something is written before the last one.
  static std::optional<GroupReduction> match(scf::ParallelOp loop,
                                             int64_t threads, int64_t warpSize);

  /// Writes the loop of one thread before the parallel one, whose body moves.
  void map(OpBuilder &builder, Value thread);

private:
  GroupReduction(scf::ParallelOp loop, SmallVector<LaneReduction> reductions,
                 int64_t threads, int64_t warpSize);

  int64_t chooseLanes() const;
  void exchange(OpBuilder &builder, const LaneReduction &reduction,
                MutableArrayRef<Value> values);
  void exchangeWarps(OpBuilder &builder, const LaneReduction &reduction,
                     MutableArrayRef<Value> values);
  void mapReductions(OpBuilder &builder, Value lane);

  scf::ParallelOp loop;
  SmallVector<LaneReduction> reductions;
  int64_t threads, warpSize;
  /// Threads of a group, a power of two.
  int64_t lanes;
  /// The number of the thread that runs this.
  Value thread;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_GROUPREDUCTION_H
