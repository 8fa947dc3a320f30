//===- Passes.h - Passes that make tasks ------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TASKS_PASSES_H
#define ARK_PASSES_TILING_TASKS_PASSES_H

#include "dialects/ark/ArkOps.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/tiling/tasks/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/tiling/tasks/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_PASSES_H
