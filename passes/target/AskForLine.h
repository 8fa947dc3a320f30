//===- AskForLine.h - Loads that nobody waits for ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ASKFORLINE_H
#define ARK_PASSES_TARGET_ASKFORLINE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Of the L2.
inline constexpr int64_t kLineBytes = 128;

/// Has the L2 load the line at an address, an index, from memory.
void askForLine(ImplicitLocOpBuilder &builder, Value address);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ASKFORLINE_H
