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
  /// Lets the kernel record the times of its instructions.
  bool trace = false;
};

/// Lowers a synchronised schedule to one kernel function, tables and bodies.
void buildKernelPipeline(OpPassManager &pm,
                         const KernelPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_PASSES_H
