//===- TaskOrder.h - An order that keeps old values readable ----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_TASKORDER_H
#define ARK_PASSES_MEMORY_TASKORDER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// The tasks of a program on tensors, in an order in which they may work on
/// buffers: a task comes after those that make what it reads, and a task that
/// updates a state in place after those that read what it overwrites. Keeps
/// the order of the block wherever it can. Fails with an error where a task
/// needs a value that is overwritten before the task can run.
FailureOr<SmallVector<TaskOp>> orderTasks(ProgramOp program);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_TASKORDER_H
