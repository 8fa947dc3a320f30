//===- OptMain.cpp - The tool ark-opt -------------------------------------===//

#include "lib/capi/ark-c/Tools.h"

#include "lib/registration/RegisterAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

/// Upstream prints the whole op below an error. The op is often the program,
/// whose text hides the error.
static void printOpsOnRequestOnly() {
  mlir::registerMLIRContextCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("mlir-print-op-on-diagnostic");
  if (found != options.end())
    static_cast<llvm::cl::opt<bool> *>(found->second)->setInitialValue(false);
}

int arkOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::ark::registerAllArkDialects(registry);

  mlir::registerAllPasses();
  mlir::ark::registerAllArkPasses();
  printOpsOnRequestOnly();

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "ark: persistent kernel compiler\n", registry));
}
