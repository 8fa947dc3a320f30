//===- RoundedResults.h - Results that all readers round --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_ROUNDEDRESULTS_H
#define ARK_PASSES_TARGET_MATMUL_ROUNDEDRESULTS_H

#include "passes/target/matrix_units/MatmulTile.h"

namespace mlir::ark {

/// Returns the type of 16 bits to which all readers of the products' results
/// round each element before they use it. Returns null if there is no such
/// type. Accumulators that are rounded before they are stored need half of the
/// shared memory, and the values that readers use are the same.
FloatType findRoundedType(ArrayRef<MatmulTile> products);

/// Removes the roundings of a reader of `rounded`, whose elements are rounded.
void removeRoundings(Operation *reader, Value rounded);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_ROUNDEDRESULTS_H
