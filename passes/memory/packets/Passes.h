//===- Passes.h - Passes that send packets ----------------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PACKETS_PASSES_H
#define ARK_PASSES_MEMORY_PACKETS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/memory/packets/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/memory/packets/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PACKETS_PASSES_H
