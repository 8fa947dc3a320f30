//===- OpaqueNumber.h - Numbers that compilers do not know ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_OPAQUENUMBER_H
#define ARK_PASSES_TARGET_OPAQUENUMBER_H

#include "mlir/IR/Builders.h"

namespace mlir::ark {

/// The index `number`, opaque to compilers: what is computed from the result
/// is computed after this place. It has 32 bits.
Value createOpaqueIndex(OpBuilder &builder, Location loc, Value number);

/// The same for the number of this thread, which is read here.
Value createOpaqueThread(OpBuilder &builder, Location loc);

/// The same for an index of 64 bits, across which no compiler moves loads from
/// memory either. All threads of a warp come by.
Value createOpaqueFence(OpBuilder &builder, Location loc, Value number);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_OPAQUENUMBER_H
