//===- ark-opt.cpp - Run any pass or stage on MLIR text -------------------===//

#include "lib/registration/RegisterAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#ifdef ARK_HAS_TEST_PASSES
namespace mlir::ark {
/// Defined in tests/lib.
void registerArkTestPasses();
} // namespace mlir::ark
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  mlir::ark::registerAllArkDialects(registry);

  mlir::registerAllPasses();
  mlir::ark::registerAllArkPasses();
#ifdef ARK_HAS_TEST_PASSES
  mlir::ark::registerArkTestPasses();
#endif

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "ark: persistent kernel compiler\n", registry));
}
