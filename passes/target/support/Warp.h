//===- Warp.h - Warps of NVIDIA GPUs ----------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_WARP_H
#define ARK_PASSES_TARGET_SUPPORT_WARP_H

#include "passes/kernel/KernelAbi.h"

namespace mlir::ark {

/// Threads of a warp of an NVIDIA GPU.
inline constexpr int64_t kWarpSize = abi::kCudaWarpSize;

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_WARP_H
