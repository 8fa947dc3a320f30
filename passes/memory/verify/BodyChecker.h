//===- BodyChecker.h - Prove that bodies stay in their tiles ----*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_BODYCHECKER_H
#define ARK_PASSES_MEMORY_VERIFY_BODYCHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// Verifies the body of a task on buffers. Fails with an error unless the body
/// contains only ops of the list of `ark-verify-memory`, every access is proven
/// to lie inside of a tile or a temporary, and no input is written.
LogicalResult verifyBody(TaskOp task);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_BODYCHECKER_H
