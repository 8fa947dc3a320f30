//===- LibraryMath.h - Math functions without a library ---------*- C++ -*-===//
//
// Formulas on f32 that compute in f64, for targets that have no maths library
// and rarely need these functions. The results are within one unit in the last
// place.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_MATH_LIBRARYMATH_H
#define ARK_PASSES_TARGET_MATH_LIBRARYMATH_H

#include "passes/target/math/ScalarMath.h"

namespace mlir::ark {

Value emitSin(ScalarMath m, Value x);
Value emitCos(ScalarMath m, Value x);
/// Returns C's results for zeros, infinities, NaN and negative bases.
Value emitPow(ScalarMath m, Value x, Value y);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATH_LIBRARYMATH_H
