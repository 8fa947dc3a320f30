//===- RegisterAll.cpp - Registration of dialects and passes --------------===//

#include "lib/registration/RegisterAll.h"

#include "dialects/ark/ArkDialect.h"
#include "passes/graph/Passes.h"
#include "passes/graph/collectives/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/memory/bufferize/Passes.h"
#include "passes/memory/packets/Passes.h"
#include "passes/memory/placement/Passes.h"
#include "passes/memory/verify/Passes.h"
#include "passes/pipelines/Pipelines.h"
#include "passes/scheduling/Passes.h"
#include "passes/synchronization/Passes.h"
#include "passes/target/Passes.h"
#include "passes/tiling/Passes.h"
#include "passes/tiling/fusion/Passes.h"
#include "passes/tiling/selection/Passes.h"
#include "passes/tiling/tasks/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void ark::registerAllArkDialects(DialectRegistry &registry) {
  registerArkBackends();
  registry.insert<ArkDialect>();
  // The translation from gpu.module to PTX needs these translations and
  // interfaces.
  registerAllToLLVMIRTranslations(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
}

void ark::registerAllArkPasses() {
  // The dependent dialects of passes are those of the backends.
  registerArkBackends();
  registerArkGraphPasses();
  registerArkGraphCollectivesPasses();
  registerArkTilingPasses();
  registerArkTilingSelectionPasses();
  registerArkTilingTasksPasses();
  registerArkTilingFusionPasses();
  registerArkMemoryBufferizePasses();
  registerArkMemoryPacketsPasses();
  registerArkMemoryPlacementPasses();
  registerArkMemoryVerifyPasses();
  registerArkSchedulingPasses();
  registerArkSynchronizationPasses();
  registerArkKernelPasses();
  registerArkTargetPasses();
  registerArkPipelines();
}
