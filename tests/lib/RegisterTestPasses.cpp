//===- RegisterTestPasses.cpp - Passes that only tests run ----------------===//

#include "tests/lib/TestPasses.h"

void mlir::ark::registerArkTestPasses() {
  registerTestBufferViewPass();
  registerTestKernelTextsPass();
  registerTestLivenessPass();
  registerTestMatrixInstructionsPass();
  registerTestCostPasses();
  registerTestCrashPass();
  registerTestDeleteEachWaitPass();
  registerTestPrintDependencesPass();
  registerToyBackend();
}
