//===- SplitFloat.h - f32 numbers as sums of bf16 numbers -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_SPLITFLOAT_H
#define ARK_PASSES_TARGET_MATMUL_SPLITFLOAT_H

#include "lib/analysis/ProductTiles.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Splits f32 numbers into `kF32Terms` terms, whose sum is the number. Returns
/// for each term, the largest first, words with two bf16 numbers each, in the
/// order of the numbers.
///
/// The largest term is rounded toward zero, so that it stays infinite or NaN if
/// the number is: then the terms are not finite, but their sum is meaningless.
/// The next term is rounded to nearest. It has at most 2^-7 of the number, and
/// the last term at most 2^-16. Products of two numbers are as accurate as in
/// f32 without the products of these two terms, and without the square of the
/// last term.
SmallVector<SmallVector<Value>> splitFloats(ImplicitLocOpBuilder &builder,
                                            ArrayRef<Value> numbers);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_SPLITFLOAT_H
