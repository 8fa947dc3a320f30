//===- CudaLowering.h - Lowering for NVIDIA GPUs ----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CUDA_CUDALOWERING_H
#define ARK_PASSES_TARGET_CUDA_CUDALOWERING_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Adds the passes that lower kernel and bodies to a `gpu.module` in the LLVM
/// and NVVM dialects, for CTAs of `threads` threads in warps of `warpSize`.
void buildCudaLowering(OpPassManager &pm, int64_t threads, int64_t warpSize,
                       bool hasFp8Conversions);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CUDA_CUDALOWERING_H
