//===- GroupReduction.h - Reductions that threads share ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_GROUPREDUCTION_H
#define ARK_PASSES_TARGET_GROUPREDUCTION_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// A parallel loop with a reducing one inside, each iteration of which is done
/// by a group of threads of one warp. Every thread combines every n-th value;
/// then the group exchanges what it has.
class GroupReduction {
public:
  /// Nothing, if the reduction does not begin with its neutral element.
  static std::optional<GroupReduction>
  match(scf::ParallelOp loop, scf::ParallelOp reduction, int64_t threads);

  /// Writes the loop of one thread before the parallel one, whose body moves.
  void map(OpBuilder &builder, Value thread);

private:
  GroupReduction(scf::ParallelOp loop, scf::ParallelOp reduction,
                 int64_t threads, int64_t lanes)
      : loop(loop), reduction(reduction), threads(threads), lanes(lanes) {}

  Value combine(OpBuilder &builder, Value a, Value b);
  Value reduce(OpBuilder &builder, Value lane);
  Value exchange(OpBuilder &builder, Value value);

  scf::ParallelOp loop, reduction;
  int64_t threads;
  /// Threads of a group, a power of two.
  int64_t lanes;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_GROUPREDUCTION_H
