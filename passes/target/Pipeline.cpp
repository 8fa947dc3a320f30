//===- Pipeline.cpp - The passes of the target stage ----------------------===//

#include "passes/target/Passes.h"

#include "passes/target/attention/Passes.h"
#include "passes/target/cpu/CpuBackend.h"
#include "passes/target/cpu/Passes.h"
#include "passes/target/cuda/CudaBackend.h"
#include "passes/target/hip/HipBackend.h"
#include "passes/target/math/Passes.h"
#include "passes/target/matmul/Passes.h"
#include "passes/target/module/Passes.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/prefetch/Passes.h"
#include "passes/target/rowwise/Passes.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/tensor_maps/Passes.h"
#include "passes/target/weight_streaming/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <mutex>

using namespace mlir;

void ark::buildTargetPipeline(OpPassManager &pm,
                              const TargetPipelineOptions &options) {
  pm.addPass(createLowerToTargetPass({options.vectorElements}));
  pm.addPass(createVerifyTargetPass());
}

void ark::registerArkTargetPasses() {
  registerArkTargetCpuPasses();
  registerArkTargetMathPasses();
  registerArkTargetSimtPasses();
  registerArkTargetPacketsPasses();
  registerArkTargetRowwisePasses();
  registerArkTargetWeightStreamingPasses();
  registerArkTargetPrefetchPasses();
  registerArkTargetAttentionPasses();
  registerArkTargetTensorMapsPasses();
  registerArkTargetMatmulPasses();
  registerArkTargetModulePasses();
}

void ark::registerArkBackends() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerCpuBackend();
    registerCudaBackend();
    registerHipBackend();
  });
}
