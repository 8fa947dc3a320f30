//===- GpuLowering.h - Common lowering for GPUs -----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_GPULOWERING_H
#define ARK_PASSES_TARGET_MODULE_GPULOWERING_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

struct GpuLoweringOptions {
  /// Threads of a CTA and of a warp.
  int64_t threads, warpSize;
  /// True if there is a maths library for code of this GPU.
  bool library;
  /// True if this GPU has an instruction that rounds f32 to bf16.
  bool roundsToBF16 = false;
  /// True if this GPU has instructions that widen 8-bit floats.
  bool hasFp8Conversions = false;
  /// Adds the passes for products that become more than loops; null if there
  /// are none.
  llvm::function_ref<void(OpPassManager &)> addProducts = nullptr;
};

/// Adds the passes that lower bodies to scalars and branches, which the threads
/// of a CTA share, in a `gpu.module`.
void addGpuLowering(OpPassManager &pm, const GpuLoweringOptions &options);

/// Registers the interfaces that conversions of a `gpu.module` to the LLVM
/// dialect need.
void registerGpuLowering(DialectRegistry &registry);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MODULE_GPULOWERING_H
