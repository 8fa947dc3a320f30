//===- Passes.h - Passes of the target stage --------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PASSES_H
#define ARK_PASSES_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/Passes.h.inc"

struct TargetPipelineOptions {
  /// f32 lanes of a vector register; 0 stands for those of this machine.
  int64_t vectorLanes = 0;
};

/// Adds the passes that lower kernel and bodies to code of the target.
void buildTargetPipeline(OpPassManager &pm,
                         const TargetPipelineOptions &options = {});

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PASSES_H
