//===- OpaqueNumber.h - Numbers opaque to compilers -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H
#define ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H

#include "mlir/IR/Builders.h"

namespace mlir::ark {

/// Returns the 32-bit index `number`, opaque to compilers: values that depend
/// on the result are computed after this point.
Value createOpaqueIndex(OpBuilder &builder, Location loc, Value number);

/// Reads the thread id at this point. The result is opaque to compilers.
Value createOpaqueThread(OpBuilder &builder, Location loc);

/// Returns the 64-bit index `number`, opaque to compilers. Compilers also move
/// no load across this point. All threads of a warp must reach it.
Value createOpaqueFence(OpBuilder &builder, Location loc, Value number);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_OPAQUENUMBER_H
