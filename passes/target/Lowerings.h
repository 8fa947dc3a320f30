//===- Lowerings.h - From kernel to code, by backend ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_LOWERINGS_H
#define ARK_PASSES_TARGET_LOWERINGS_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Threads of a warp of an NVIDIA GPU.
inline constexpr int64_t kWarpSize = 32;

/// Kernel and bodies become functions in the LLVM dialect, for `vectorLanes`
/// f32 lanes of a vector register; 0: as many as this machine has.
void buildCpuLowering(OpPassManager &pm, int64_t vectorLanes);

/// Kernel and bodies become a `gpu.module` in the LLVM and NVVM dialects, for
/// CTAs of `threads` threads on GPUs of an architecture.
void buildCudaLowering(OpPassManager &pm, StringRef arch, int64_t threads);

/// What `buildCudaLowering` expects of the context, beside what all GPUs do.
void registerCudaLowering(DialectRegistry &registry);

/// Kernel and bodies become a `gpu.module` in the LLVM and ROCDL dialects, for
/// CTAs of `threads` threads in warps of `warpSize`.
void buildHipLowering(OpPassManager &pm, StringRef arch, int64_t threads,
                      int64_t warpSize);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_LOWERINGS_H
