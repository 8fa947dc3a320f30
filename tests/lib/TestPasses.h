//===- TestPasses.h - Passes that only tests run ----------------*- C++ -*-===//

#ifndef ARK_TESTS_LIB_TESTPASSES_H
#define ARK_TESTS_LIB_TESTPASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::ark {

/// Registers all test passes, and the backend of the toy GPU.
void registerArkTestPasses();

void registerTestBufferViewPass();
void registerTestKernelTextsPass();
void registerTestLivenessPass();
void registerTestMatrixInstructionsPass();
void registerTestCostPasses();
void registerTestCrashPass();
void registerTestDeleteEachWaitPass();
void registerTestPrintDependencesPass();
void registerToyBackend();

/// Creates the pass that lowers matrix products to the instruction of a warp,
/// for CTAs of `threads` threads.
std::unique_ptr<Pass> createTestMatrixInstructionsPass(int64_t threads);

} // namespace mlir::ark

#endif // ARK_TESTS_LIB_TESTPASSES_H
