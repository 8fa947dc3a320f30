//===- TaskOrder.h - Order tasks around updates in place --------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BUFFERIZE_TASKORDER_H
#define ARK_PASSES_MEMORY_BUFFERIZE_TASKORDER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the tasks of a program on tensors in an order that is valid on
/// buffers: a task follows the producers of its operands, and a task that
/// updates a state in place follows the tasks that read the old value. Keeps
/// the order of the block where possible. Fails with an error if a task needs a
/// value that is overwritten before the task can run.
FailureOr<SmallVector<TaskOp>> orderTasks(ProgramOp program);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BUFFERIZE_TASKORDER_H
