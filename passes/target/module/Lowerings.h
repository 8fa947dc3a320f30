//===- Lowerings.h - Lowerings of the backends ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_LOWERINGS_H
#define ARK_PASSES_TARGET_MODULE_LOWERINGS_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Adds the passes that lower kernel and bodies to functions in the LLVM
/// dialect, for vector registers of `vectorElements` f32 elements; 0 selects
/// those of this machine.
void buildCpuLowering(OpPassManager &pm, int64_t vectorElements);

/// Adds the passes that lower kernel and bodies to a `gpu.module` in the LLVM
/// and NVVM dialects, for CTAs of `threads` threads.
void buildCudaLowering(OpPassManager &pm, int64_t threads,
                       bool hasFp8Conversions);

/// Registers the interfaces that `buildCudaLowering` needs in addition to the
/// interfaces for all GPUs.
void registerCudaLowering(DialectRegistry &registry);

/// Adds the passes that lower kernel and bodies to a `gpu.module` in the LLVM
/// and ROCDL dialects, for CTAs of `threads` threads in warps of `warpSize`.
void buildHipLowering(OpPassManager &pm, StringRef arch, int64_t threads,
                      int64_t warpSize);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MODULE_LOWERINGS_H
