//===- WideLoad.h - Vector loads of neighbours ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MEMORY_ACCESS_WIDELOAD_H
#define ARK_PASSES_TARGET_MEMORY_ACCESS_WIDELOAD_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// Bytes of the widest load of a thread.
inline constexpr int64_t kLoadBytes = 16;

/// Returns the size of the loaded element in bytes.
int64_t getBytes(memref::LoadOp load);

/// Returns true if neighbouring values of `variable` load neighbouring
/// elements. `isFixed` returns true for values that do not depend on
/// `variable`.
bool loadsNeighbours(memref::LoadOp load, Value variable,
                     function_ref<bool(Value)> isFixed);

/// Returns true if groups of `count` elements are aligned for the widest
/// possible instructions.
bool isAlignedFor(memref::LoadOp load, int64_t count);

/// Replaces `load` by a load of `count` elements of `buffer` from `indices` on.
Value createWideLoad(OpBuilder &builder, memref::LoadOp load, Value buffer,
                     ValueRange indices, int64_t count);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MEMORY_ACCESS_WIDELOAD_H
