//===- OutputChecker.h - Check that outputs are complete --------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_OUTPUTCHECKER_H
#define ARK_PASSES_MEMORY_VERIFY_OUTPUTCHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Checks that the tasks of a program on buffers write every byte of its
/// outputs. A task that updates an out does not count: it may leave elements as
/// they are. `checkTask` must have accepted all tasks.
LogicalResult checkOutputs(ProgramOp program);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_OUTPUTCHECKER_H
