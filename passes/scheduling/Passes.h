//===- Passes.h - Passes of the scheduling stage ----------------*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_PASSES_H
#define ARK_PASSES_SCHEDULING_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/scheduling/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/scheduling/Passes.h.inc"

/// Adds the passes of the stage to a pipeline on modules. An empty name selects
/// the default scheduler.
void buildSchedulingPipeline(OpPassManager &pm, StringRef scheduler);

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_PASSES_H
