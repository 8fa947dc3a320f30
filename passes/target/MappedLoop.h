//===- MappedLoop.h - What every thread of a CTA does -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MAPPEDLOOP_H
#define ARK_PASSES_TARGET_MAPPEDLOOP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// A loop with an iteration for every thread; the builder goes inside. Gives
/// the number of the thread.
Value createMappedLoop(ImplicitLocOpBuilder &builder, int64_t threads);

/// A temporary of the body that the builder is in, at its head.
Value createTemporary(ImplicitLocOpBuilder &builder, MemRefType type,
                      int64_t alignment);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MAPPEDLOOP_H
