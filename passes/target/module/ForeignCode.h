//===- ForeignCode.h - Code of another backend ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H
#define ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H

#include "dialects/ark/ArkAttrs.h"
#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// Returns true if an op of the LLVM dialect uses a feature that the backend
/// does not have: assembly in the language of another backend, or an intrinsic
/// of another one.
bool isForeign(Operation *op, Backend backend);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MODULE_FOREIGNCODE_H
