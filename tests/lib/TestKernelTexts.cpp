//===- TestKernelTexts.cpp - Parse texts of the kernel --------------------===//

#include "passes/kernel/KernelTextLinker.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Adds kernel texts from files to the module, as `ark-build-kernel` adds those
/// of a backend.
struct TestKernelTextsPass
    : public PassWrapper<TestKernelTextsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestKernelTextsPass)

  TestKernelTextsPass() = default;
  TestKernelTextsPass(const TestKernelTextsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "ark-test-kernel-texts"; }
  StringRef getDescription() const final {
    return "Add kernel texts from files to the module";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                    func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                    NVVM::NVVMDialect, ROCDL::ROCDLDialect,
                    memref::MemRefDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    KernelTextLinker linker(getOperation(), hasRanks);
    for (const std::string &file : files) {
      auto buffer = llvm::MemoryBuffer::getFile(file);
      if (!buffer) {
        getOperation().emitError("cannot read '")
            << file << "': " << buffer.getError().message();
        return signalPassFailure();
      }
      StringRef name = llvm::sys::path::filename(file);
      if (failed(linker.add({name, (*buffer)->getBuffer()})))
        return signalPassFailure();
    }
  }

  ListOption<std::string> files{*this, "files",
                                llvm::cl::desc("Paths of the texts")};
  Option<bool> hasRanks{*this, "ranks", llvm::cl::init(false),
                        llvm::cl::desc("The program has several ranks")};
};
} // namespace

void mlir::ark::registerTestKernelTextsPass() {
  PassRegistration<TestKernelTextsPass>();
}
