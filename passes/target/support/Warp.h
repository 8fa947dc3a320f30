//===- Warp.h - Threads of a warp -------------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_WARP_H
#define ARK_PASSES_TARGET_SUPPORT_WARP_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// Returns the threads of a warp: `option`, the option `warp-size` of a pass,
/// or the warp size of the module's target if `option` is 0. Reports an error
/// and fails if `option` is 0 and the module has no target with warps.
FailureOr<int64_t> getWarpSize(ModuleOp module, int64_t option);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_WARP_H
