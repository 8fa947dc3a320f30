//===- Passes.h - Passes at the boundaries of stages ------------*- C++ -*-===//

#ifndef ARK_PASSES_PIPELINES_PASSES_H
#define ARK_PASSES_PIPELINES_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/pipelines/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/pipelines/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_PIPELINES_PASSES_H
