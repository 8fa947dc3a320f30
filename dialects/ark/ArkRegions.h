//===- ArkRegions.h - Ranges of the offsets of regions ----------*- C++ -*-===//

#ifndef ARK_DIALECTS_ARK_ARKREGIONS_H
#define ARK_DIALECTS_ARK_ARKREGIONS_H

#include "mlir/IR/AffineExpr.h"

namespace mlir::ark {

/// The integers from `lowest` to `highest`, both included.
struct IndexRange {
  int64_t lowest, highest;
};

/// Returns a range with all values of an affine expression over the vCTAs of a
/// grid. The range is exact for linear expressions and for quotients of them.
/// Returns nothing if a divisor is not a positive constant, or if a value takes
/// more than 64 bits.
std::optional<IndexRange> getRangeOverGrid(AffineExpr expr,
                                           ArrayRef<int64_t> grid);

} // namespace mlir::ark

#endif // ARK_DIALECTS_ARK_ARKREGIONS_H
