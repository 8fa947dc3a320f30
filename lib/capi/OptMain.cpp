//===- OptMain.cpp - The tool ark-opt -------------------------------------===//

#include "lib/capi/ark-c/Tools.h"

#include "lib/registration/RegisterAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int arkOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::ark::registerAllArkDialects(registry);

  mlir::registerAllPasses();
  mlir::ark::registerAllArkPasses();

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "ark: persistent kernel compiler\n", registry));
}
