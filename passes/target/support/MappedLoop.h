//===- MappedLoop.h - Loops with an iteration per thread --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H
#define ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Creates a loop with one iteration per thread, and moves the builder inside.
/// Returns the thread id.
Value createMappedLoop(ImplicitLocOpBuilder &builder, int64_t threads);

/// Creates a temporary at the head of the current body.
Value createTemporary(ImplicitLocOpBuilder &builder, MemRefType type,
                      int64_t alignment);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H
