//===- Passes.h - The target stage ------------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PASSES_H
#define ARK_PASSES_TARGET_PASSES_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Registers the passes of all folders of the target stage.
void registerArkTargetPasses();

/// Registers the backends of the target stage; may be called again. Without
/// backends, passes know no target.
void registerArkBackends();

struct TargetPipelineOptions {
  /// f32 elements of a vector register; 0 stands for those of this machine.
  int64_t vectorElements = 0;
};

/// Adds the passes that lower kernel and bodies to code of the target.
void buildTargetPipeline(OpPassManager &pm,
                         const TargetPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PASSES_H
