//===- ForeignCode.h - Code for another machine -----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_FOREIGNCODE_H
#define ARK_PASSES_TARGET_FOREIGNCODE_H

#include "dialects/ark/ArkAttrs.h"
#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// Whether an op of the LLVM dialect names what the backend does not have:
/// assembly in the language of another one, or an intrinsic of it.
bool isForeign(Operation *op, Backend backend);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_FOREIGNCODE_H
