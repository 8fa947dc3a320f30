//===- Passes.h - The memory stage ------------------------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PASSES_H
#define ARK_PASSES_MEMORY_PASSES_H

#include <cstdint>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::ark {

/// Options of the stage, which lowers tasks on tensors to tasks on buffers of
/// one arena.
struct MemoryPipelineOptions {
  /// Hands off small activations as packets if possible.
  bool packets = false;
  /// Bytes that the arena of each rank may have; 0 means no limit.
  int64_t memory = 0;
};
void buildMemoryPipeline(OpPassManager &pm,
                         const MemoryPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PASSES_H
