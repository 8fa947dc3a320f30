//===- SplitFloat.h - f32 numbers as sums of bf16 numbers -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_SPLITFLOAT_H
#define ARK_PASSES_TARGET_WARPGROUPS_SPLITFLOAT_H

#include "lib/analysis/ProductTiles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Splits f32 numbers into `kF32Terms` terms, whose sum is the number. Returns
/// for each term, the largest first, words with two bf16 numbers each, in the
/// order of the numbers.
///
/// The largest term is rounded toward zero, so that the term is infinite or NaN
/// if the number is infinite or NaN. The sum of the terms is then meaningless.
/// The second term is rounded to nearest. Its magnitude is at most 2^-7 of the
/// magnitude of the number, and that of the third term at most 2^-16. A product
/// of two numbers is as accurate as in f32 without the products of a second and
/// a third term, and without the product of both third terms.
SmallVector<SmallVector<Value>> splitFloats(ImplicitLocOpBuilder &builder,
                                            ArrayRef<Value> numbers);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_SPLITFLOAT_H
