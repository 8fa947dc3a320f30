//===- IterationSpace.h - Numbered iterations of a loop ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_ITERATIONSPACE_H
#define ARK_PASSES_TARGET_SUPPORT_ITERATIONSPACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// The iterations of a parallel loop, numbered in row-major order.
struct IterationSpace {
  /// Computes extents and size at the insertion point, before the loop.
  IterationSpace(OpBuilder &builder, scf::ParallelOp loop);

  /// Returns the induction variables of an iteration.
  SmallVector<Value> getVariables(OpBuilder &builder, Value iteration) const;

  scf::ParallelOp loop;
  SmallVector<Value> extents;
  Value size;
};

/// Registers the value-bounds models of the ops that compute extents. A pass
/// that queries bounds of extents has to call this function.
void registerBoundModels(DialectRegistry &registry);

/// Returns a constant upper bound of the number of iterations, if there is one.
std::optional<int64_t> getSizeBound(scf::ParallelOp loop);

/// Returns the product of the constant extents. The product is the number of
/// iterations of one vCTA if the other extents count the vCTAs of a work item.
int64_t getStaticSize(scf::ParallelOp loop);

/// Moves the body of a parallel loop, without its terminator, before `op`.
void inlineBody(OpBuilder &builder, scf::ParallelOp loop, Operation *op,
                ValueRange variables);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_ITERATIONSPACE_H
