//===- Passes.h - Passes of the synchronization stage -----------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_PASSES_H
#define ARK_PASSES_SYNCHRONIZATION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/synchronization/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/synchronization/Passes.h.inc"

/// Adds the passes of the stage to a pipeline on modules.
void buildSynchronizationPipeline(OpPassManager &pm, bool verify = true);

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_PASSES_H
