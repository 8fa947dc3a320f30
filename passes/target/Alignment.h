//===- Alignment.h - Where elements of a buffer lie -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ALIGNMENT_H
#define ARK_PASSES_TARGET_ALIGNMENT_H

#include "mlir/IR/Value.h"

namespace mlir::ark {

/// The largest power of two that the address of `buffer[indices]` is known to
/// be a multiple of, in bytes; the last index counts as a multiple of
/// `elements`.
int64_t getAlignment(Value buffer, ValueRange indices, int64_t elements);

/// The same of any place whose last index is a multiple of `elements`.
int64_t getRowAlignment(Value buffer, int64_t elements);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ALIGNMENT_H
