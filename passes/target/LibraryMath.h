//===- LibraryMath.h - Functions without a maths library --------*- C++ -*-===//
//
// Formulas on f32 that compute in f64, for where these functions are rare and
// nothing else has them. The results are within one unit in the last place.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_LIBRARYMATH_H
#define ARK_PASSES_TARGET_LIBRARYMATH_H

#include "passes/target/ScalarMath.h"

namespace mlir::ark {

Value emitSin(ScalarMath m, Value x);
Value emitCos(ScalarMath m, Value x);
/// With C's results for zeros, infinities, NaN and negative bases.
Value emitPow(ScalarMath m, Value x, Value y);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_LIBRARYMATH_H
