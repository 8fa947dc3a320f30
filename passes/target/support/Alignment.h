//===- Alignment.h - Alignment of elements of a buffer ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_ALIGNMENT_H
#define ARK_PASSES_TARGET_SUPPORT_ALIGNMENT_H

#include "mlir/IR/Value.h"

namespace mlir::ark {

/// Returns the largest power of two, in bytes, that is known to divide the
/// address of `buffer[indices]`, if the last index is a multiple of `elements`.
int64_t getAlignment(Value buffer, ValueRange indices, int64_t elements);

/// Returns the alignment of any element whose last index is a multiple of
/// `elements`.
int64_t getRowAlignment(Value buffer, int64_t elements);

/// Returns the alignment of the first elements of the indices of dimension 0.
int64_t getLeadingAlignment(Value buffer);

/// Returns true if `value` is an argument of a body that is aligned for the
/// widest loads.
bool isAlignedArgument(Value value);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_ALIGNMENT_H
