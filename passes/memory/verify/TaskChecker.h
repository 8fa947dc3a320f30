//===- TaskChecker.h - Check a task on buffers ------------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_TASKCHECKER_H
#define ARK_PASSES_MEMORY_VERIFY_TASKCHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Returns the kind of the program's argument `buffer`; nothing for a buffer
/// that is not an argument.
std::optional<ArgumentKind> getKind(ProgramOp program, Value buffer);

/// Checks the operands of a task on buffers, and its body (`BodyChecker.h`).
/// The result does not depend on other tasks.
LogicalResult checkTask(TaskOp task);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_TASKCHECKER_H
