//===- GpuLowering.h - What lowerings for GPUs share ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_GPULOWERING_H
#define ARK_PASSES_TARGET_GPULOWERING_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

struct GpuLoweringOptions {
  /// Threads of a CTA, and of a warp.
  int64_t threads, warpSize;
  /// Whether there is a maths library for code of this GPU.
  bool library;
  /// Whether this GPU rounds to bf16 by itself.
  bool roundsToBF16 = false;
  /// Whether it widens 8-bit floats by itself.
  bool widensEights = false;
  /// Adds the passes for products that are more than loops, if there are any.
  llvm::function_ref<void(OpPassManager &)> addProducts = nullptr;
};

/// Bodies become scalars and branches that the threads of a CTA share, in a
/// `gpu.module`.
void addGpuLowering(OpPassManager &pm, const GpuLoweringOptions &options);

/// What conversions of a `gpu.module` to the LLVM dialect expect.
void registerGpuLowering(DialectRegistry &registry);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_GPULOWERING_H
