//===- LibraryMath.h - Math functions without a library ---------*- C++ -*-===//
//
// Formulas on f32 that compute in f64, for targets without a maths library.
// Their results are within one unit in the last place. Speed matters little,
// because these functions are rare.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_MATH_LIBRARYMATH_H
#define ARK_PASSES_TARGET_MATH_LIBRARYMATH_H

#include "passes/target/math/ScalarMath.h"

namespace mlir::ark {

Value emitSin(ScalarMath m, Value x);
Value emitCos(ScalarMath m, Value x);
/// Returns the results of C's pow for zeros, infinities, NaN and negative
/// bases.
Value emitPow(ScalarMath m, Value x, Value y);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATH_LIBRARYMATH_H
