//===- IterationSpace.h - Iterations of a parallel loop by number -*- C++
//-*-===//

#ifndef ARK_PASSES_TARGET_ITERATIONSPACE_H
#define ARK_PASSES_TARGET_ITERATIONSPACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// The iterations of a parallel loop, counted row-major.
struct IterationSpace {
  /// Computes extents and size before the loop, at the builder's place.
  IterationSpace(OpBuilder &builder, scf::ParallelOp loop);

  /// The induction variables of iteration `number`.
  SmallVector<Value> getVariables(OpBuilder &builder, Value number) const;

  scf::ParallelOp loop;
  SmallVector<Value> extents;
  Value size;
};

/// What tells the bounds of extents: a pass that asks for them depends on it.
void registerBoundModels(DialectRegistry &registry);

/// The largest number of iterations, where it can be told.
std::optional<int64_t> getSizeBound(scf::ParallelOp loop);

/// Moves the body of a parallel loop, but its terminator, before `op`.
void inlineBody(OpBuilder &builder, scf::ParallelOp loop, Operation *op,
                ValueRange variables);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ITERATIONSPACE_H
