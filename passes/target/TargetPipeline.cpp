//===- TargetPipeline.cpp - The passes of the target stage ----------------===//

#include "passes/target/Passes.h"

#include "lib/target/NativeObject.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Everything to the LLVM dialect, from the highest level down.
static void addLoweringToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vector;
  // Panels of weights are transposed in registers, a square of lanes at a time.
  vector.vectorTransposeLowering =
      vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Operands have static layouts, so that a body takes bare pointers.
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  // Lowering a multi-dimensional vector starts from poison.
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(ark::createSetLinkagePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// f32 lanes of the vector registers of this machine.
static int64_t getHostVectorLanes() {
  std::string text = ark::getHostCpu().features;
  StringRef features = text;
  if (features.contains("+avx512f"))
    return 16;
  return features.contains("+avx") ? 8 : 4;
}

void ark::buildTargetPipeline(OpPassManager &pm,
                              const TargetPipelineOptions &options) {
  int64_t lanes =
      options.vectorLanes ? options.vectorLanes : getHostVectorLanes();
  pm.addNestedPass<func::FuncOp>(createArkVectorizeContractionsPass({lanes}));
  pm.addPass(createConvertLinalgToLoopsPass());
  addLoweringToLLVM(pm);
}
