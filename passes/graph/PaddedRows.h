//===- PaddedRows.h - Zeros behind the elements of rows ---------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_PADDEDROWS_H
#define ARK_PASSES_GRAPH_PADDEDROWS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::ark {

/// Returns a tensor of zeros.
Value createZeros(OpBuilder &builder, Location loc, RankedTensorType type);

/// Returns the first `extent` elements of `tensor` along its last dimension.
Value dropPitch(OpBuilder &builder, Location loc, Value tensor, int64_t extent);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_PADDEDROWS_H
