//===- SafeDivisor.h - Divisions that cannot trap ---------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_VERIFY_SAFEDIVISOR_H
#define ARK_PASSES_MEMORY_VERIFY_SAFEDIVISOR_H

#include "mlir/IR/Value.h"

namespace mlir::ark {

/// Returns true if a division by `divisor`, an integer or a vector, is known
/// not to trap: the divisor is not zero, and in a signed division not -1. Knows
/// constants, maxima with a positive constant, and selects that replace these
/// divisors by a constant.
bool isSafeDivisor(Value divisor, bool isSigned);

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_VERIFY_SAFEDIVISOR_H
