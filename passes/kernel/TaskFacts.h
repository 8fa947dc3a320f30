//===- TaskFacts.h - What reports say of a task -----------------*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_TASKFACTS_H
#define ARK_PASSES_KERNEL_TASKFACTS_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

struct TaskFacts {
  /// `file:line` of the source that made the task, or empty.
  std::string location;
  /// Bytes that all vCTAs declare to touch.
  int64_t bytes = 0;
  /// Floating-point operations of all vCTAs.
  int64_t flops = 0;
};

TaskFacts getTaskFacts(TaskOp task);

/// `file:line` of the first file in a location; the callee's of a call.
std::string describeLocation(Location loc);

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_TASKFACTS_H
