//===- Passes.h - Passes for attention --------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_PASSES_H
#define ARK_PASSES_TARGET_ATTENTION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/attention/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/attention/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_PASSES_H
