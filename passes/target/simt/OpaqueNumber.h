//===- OpaqueNumber.h - Numbers opaque to compilers -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H
#define ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H

#include "mlir/IR/Builders.h"

namespace mlir::ark {

/// Returns the index `number`, opaque to compilers: values that are computed
/// from the result are computed after this place. The number has 32 bits.
Value createOpaqueIndex(OpBuilder &builder, Location loc, Value number);

/// Reads the number of this thread at this place. The result is opaque to
/// compilers.
Value createOpaqueThread(OpBuilder &builder, Location loc);

/// Returns the 64-bit index `number`, opaque to compilers, which also move no
/// load from memory across this place. All threads of a warp must reach this
/// place.
Value createOpaqueFence(OpBuilder &builder, Location loc, Value number);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H
