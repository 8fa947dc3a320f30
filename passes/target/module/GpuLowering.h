//===- GpuLowering.h - Common lowering for GPUs -----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_GPULOWERING_H
#define ARK_PASSES_TARGET_MODULE_GPULOWERING_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

struct GpuLoweringOptions {
  /// Threads per CTA and per warp.
  int64_t threads, warpSize;
  /// True if a maths library exists for code of this GPU.
  bool library;
  /// True if LLVM rounds f32 to bf16 in code for this GPU, by one instruction
  /// or several.
  bool roundsToBF16 = false;
  /// True if this GPU has instructions that widen 8-bit floats.
  bool hasFp8Conversions = false;
  /// Adds the passes for products beyond plain loops; may be null.
  llvm::function_ref<void(OpPassManager &)> addVendorPasses = nullptr;
  /// Adds passes for the loops of single threads; may be null.
  llvm::function_ref<void(OpPassManager &)> addThreadPasses = nullptr;
};

/// Adds the passes that lower bodies to scalars and branches in a `gpu.module`,
/// with the work divided among the threads of a CTA.
void addGpuLowering(OpPassManager &pm, const GpuLoweringOptions &options);

/// Registers the interfaces that conversions of a `gpu.module` to the LLVM
/// dialect need.
void registerGpuLowering(DialectRegistry &registry);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MODULE_GPULOWERING_H
