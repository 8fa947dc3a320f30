//===- TestBufferView.cpp - Print where the operands of tasks lie ---------===//

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct TestBufferViewPass
    : public PassWrapper<TestBufferViewPass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBufferViewPass)

  StringRef getArgument() const final { return "ark-test-buffer-view"; }
  StringRef getDescription() const final {
    return "Print where the operands of tasks lie";
  }

  void runOnOperation() override {
    for (auto task : getOperation().getBody().getOps<TaskOp>())
      for (auto [index, operand] : llvm::enumerate(task.getOperands())) {
        FailureOr<BufferView> view = resolveBufferView(operand);
        if (failed(view))
          return signalPassFailure();
        print(task, index, *view);
      }
  }

  static void print(TaskOp task, unsigned index, const BufferView &view) {
    llvm::outs() << task.getName() << ' ' << index << ": ";
    if (auto argument = dyn_cast<BlockArgument>(view.root))
      llvm::outs() << "argument " << argument.getArgNumber();
    else
      llvm::outs() << view.root.getDefiningOp()->getName();
    llvm::outs() << " bytes [" << view.byteOffset << ", " << view.getByteEnd()
                 << ") shape [";
    llvm::interleaveComma(view.shape, llvm::outs());
    llvm::outs() << "] strides [";
    llvm::interleaveComma(view.strides, llvm::outs());
    llvm::outs() << "] of " << view.elementType
                 << (view.isDense() ? " dense" : "")
                 << (view.coversRoot() ? " whole" : "") << '\n';
  }
};
} // namespace

void mlir::ark::registerTestBufferViewPass() {
  PassRegistration<TestBufferViewPass>();
}
