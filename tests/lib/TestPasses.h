//===- TestPasses.h - Passes that only tests run ----------------*- C++ -*-===//

#ifndef ARK_TESTS_LIB_TESTPASSES_H
#define ARK_TESTS_LIB_TESTPASSES_H

namespace mlir::ark {

/// Registers all test passes.
void registerArkTestPasses();

void registerTestBufferViewPass();
void registerTestKernelTextsPass();
void registerTestLivenessPass();
void registerTestMatrixInstructionsPass();
void registerTestCostPasses();
void registerTestCrashPass();
void registerTestDeleteEachWaitPass();
void registerTestPrintDependencesPass();

} // namespace mlir::ark

#endif // ARK_TESTS_LIB_TESTPASSES_H
