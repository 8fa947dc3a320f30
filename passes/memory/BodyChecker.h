//===- BodyChecker.h - A body stays inside of its tiles ---------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_BODYCHECKER_H
#define ARK_PASSES_MEMORY_BODYCHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Fails with an error unless the body of a task on buffers has ops of the
/// closed list of `ark-verify-memory` alone, every access is proven to lie
/// inside of a tile or of a temporary, and nothing is written to inputs.
LogicalResult verifyBody(TaskOp task);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_BODYCHECKER_H
