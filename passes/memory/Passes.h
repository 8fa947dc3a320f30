//===- Passes.h - Passes of the memory stage --------------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PASSES_H
#define ARK_PASSES_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/memory/Passes.h.inc"

/// Options of the stage, which lowers tasks on tensors to tasks on buffers of
/// one arena.
struct MemoryPipelineOptions {
  /// Hands small activations over as packets if possible.
  bool packets = false;
};
void buildMemoryPipeline(OpPassManager &pm,
                         const MemoryPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PASSES_H
