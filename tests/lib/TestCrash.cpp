//===- TestCrash.cpp - Crash in a pass ------------------------------------===//

#include "tests/lib/TestPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace mlir::ark;

namespace {
struct TestCrashPass
    : public PassWrapper<TestCrashPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestCrashPass)

  TestCrashPass() = default;
  TestCrashPass(const TestCrashPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "ark-test-crash"; }
  StringRef getDescription() const final {
    return "Crash in functions whose names say how";
  }

  void runOnOperation() override {
    StringRef name = getOperation().getName();
    if (name == "abort")
      std::abort();
    if (name == "fatal_error")
      llvm::report_fatal_error("a reason");
    if (name == "exit")
      _exit(3);
  }
};
} // namespace

void mlir::ark::registerTestCrashPass() { PassRegistration<TestCrashPass>(); }
