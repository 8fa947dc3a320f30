//===- WideLoad.h - Neighbouring elements at once ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WIDELOAD_H
#define ARK_PASSES_TARGET_WIDELOAD_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// The most that one instruction of a thread loads.
inline constexpr int64_t kLoadBytes = 16;

/// Bytes of the element that is loaded.
int64_t getBytes(memref::LoadOp load);

/// Whether neighbouring values of `variable` load neighbouring elements;
/// `isFixed` tells what does not depend on it.
bool loadsNeighbours(memref::LoadOp load, Value variable,
                     function_ref<bool(Value)> isFixed);

/// Whether `count` elements from a multiple of `count` on may be loaded by
/// instructions as wide as they can be.
bool isAlignedFor(memref::LoadOp load, int64_t count);

/// Loads `count` elements of what `load` reads, from `indices` on.
Value createWideLoad(OpBuilder &builder, memref::LoadOp load, Value buffer,
                     ValueRange indices, int64_t count);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WIDELOAD_H
