//===- StreamingLoad.h - Loads of what is read once -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_STREAMINGLOAD_H
#define ARK_PASSES_TARGET_STREAMINGLOAD_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// As many words of 32 bits, two or four, that lie at `pointer`, which is one
/// to global memory and aligned to all of them. Whole lines come from memory,
/// and stay in the L2 alone.
Value createStreamingLoad(ImplicitLocOpBuilder &builder, Value pointer,
                          int64_t words);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_STREAMINGLOAD_H
