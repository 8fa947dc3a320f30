//===- ThreadLoop.h - A thread's share of a parallel loop -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_THREADLOOP_H
#define ARK_PASSES_TARGET_SIMT_THREADLOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// Replaces a parallel loop without reductions by the iterations of one thread:
/// `first`, which is less than `threads`, and every `threads`-th iteration
/// after it. If every thread has several iterations, these load their operands
/// before any of them stores a result.
void divideAmongThreads(OpBuilder &builder, scf::ParallelOp loop, Value first,
                        int64_t threads);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_THREADLOOP_H
