//===- DimIndices.h - Verification of dimension indices ---------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_DIMINDICES_H
#define ARK_LIB_SUPPORT_DIMINDICES_H

#include "mlir/IR/Operation.h"

namespace mlir::ark {

/// Fails with an error if a `tensor.dim` or `memref.dim` inside of `root` names
/// a constant dimension that its operand does not have. MLIR's verifiers
/// allow such an op, and ValueBoundsConstraintSet reads beyond the shape for
/// it. A pass that computes bounds calls this function first.
LogicalResult verifyDimIndices(Operation *root);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_DIMINDICES_H
