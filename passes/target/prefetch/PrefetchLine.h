//===- PrefetchLine.h - L2 prefetch of a line -------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H
#define ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Bytes of a line of the L2.
inline constexpr int64_t kLineBytes = 128;

/// Prefetches the line at an address, an index, to the L2.
void prefetchLine(ImplicitLocOpBuilder &builder, Value address);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PREFETCH_PREFETCHLINE_H
