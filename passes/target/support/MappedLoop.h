//===- MappedLoop.h - Loops with an iteration per thread --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H
#define ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Creates a loop with an iteration for every thread, and moves the builder
/// inside. Returns the number of the thread.
Value createMappedLoop(ImplicitLocOpBuilder &builder, int64_t threads);

/// Creates a temporary at the head of the body that the builder is in.
Value createTemporary(ImplicitLocOpBuilder &builder, MemRefType type,
                      int64_t alignment);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_MAPPEDLOOP_H
