//===- ark-opt.cpp - Run any pass or stage on MLIR text -------------------===//

#include "lib/capi/ark-c/Tools.h"

#ifdef ARK_HAS_TEST_PASSES
namespace mlir::ark {
/// Defined in tests/lib.
void registerArkTestPasses();
} // namespace mlir::ark
#endif

int main(int argc, char **argv) {
#ifdef ARK_HAS_TEST_PASSES
  mlir::ark::registerArkTestPasses();
#endif
  return arkOptMain(argc, argv);
}
