//===- HipLowering.h - Lowering for AMD GPUs --------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_HIP_HIPLOWERING_H
#define ARK_PASSES_TARGET_HIP_HIPLOWERING_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Adds the passes that lower kernel and bodies to a `gpu.module` in the LLVM
/// and ROCDL dialects, for CTAs of `threads` threads in warps of `warpSize`.
void buildHipLowering(OpPassManager &pm, StringRef arch, int64_t threads,
                      int64_t warpSize);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_HIP_HIPLOWERING_H
