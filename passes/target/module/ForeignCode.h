//===- ForeignCode.h - Code of another backend ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H
#define ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H

#include "dialects/ark/ArkAttrs.h"
#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// Returns true if an op of the LLVM dialect uses a feature that the backend
/// lacks: inline assembly or an intrinsic of another backend.
bool isForeign(Operation *op, Backend backend);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H
