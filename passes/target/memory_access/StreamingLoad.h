//===- StreamingLoad.h - Loads of data that is read once --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MEMORY_ACCESS_STREAMINGLOAD_H
#define ARK_PASSES_TARGET_MEMORY_ACCESS_STREAMINGLOAD_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Loads two or four 32-bit words from `pointer`, which points to global memory
/// and is aligned to the size of the load. The load fetches whole lines, and
/// caches them in the L2 only.
Value createStreamingLoad(ImplicitLocOpBuilder &builder, Value pointer,
                          int64_t words);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MEMORY_ACCESS_STREAMINGLOAD_H
