//===- KVCacheRows.h - Keys and values of a KV cache ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_KVCACHEROWS_H
#define ARK_PASSES_TARGET_PREFETCH_KVCACHEROWS_H

#include "mlir/IR/Value.h"

namespace mlir::ark {

/// Returns true for rows of an argument whose number is known only at run time.
/// Operands with a constant number of rows are streamed or loaded directly.
bool isRuntimeSized(Value view);

/// Moves the ops that compute a value before `before`. Returns false if one of
/// the ops accesses memory or has regions.
bool moveBefore(Value value, Operation *before);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PREFETCH_KVCACHEROWS_H
