//===- Passes.h - Passes of the kernel stage --------------------*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_PASSES_H
#define ARK_PASSES_KERNEL_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/kernel/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/kernel/Passes.h.inc"

struct KernelPipelineOptions {
  /// Whether the kernel can record when its instructions ran.
  bool trace = false;
};

/// A synchronised schedule becomes one kernel function, tables and bodies.
void buildKernelPipeline(OpPassManager &pm,
                         const KernelPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_PASSES_H
