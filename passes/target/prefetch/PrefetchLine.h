//===- PrefetchLine.h - L2 prefetch of a line -------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H
#define ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Bytes of an L2 cache line.
inline constexpr int64_t kLineBytes = 128;

/// Prefetches the line at `address`, an index, into the L2.
void prefetchLine(ImplicitLocOpBuilder &builder, Value address);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H
