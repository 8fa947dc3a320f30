//===- TestDependences.cpp - Print the dependences between vCTAs ----------===//

#include "lib/analysis/Dependences.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct TestPrintDependencesPass
    : public PassWrapper<TestPrintDependencesPass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPrintDependencesPass)

  StringRef getArgument() const final { return "ark-test-print-dependences"; }
  StringRef getDescription() const final {
    return "Print which vCTAs must precede which";
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<Dependences> dependences = Dependences::compute(getOperation());
    if (failed(dependences))
      return signalPassFailure();
    llvm::outs() << "program @" << getOperation().getSymName() << '\n';
    for (const Dependence &dependence : dependences->getAll())
      print(*dependences, dependence);
  }

  /// Prints one line for every range of consumers with equal producers.
  static void print(const Dependences &dependences,
                    const Dependence &dependence) {
    llvm::outs() << stringifyHazard(dependence.hazard) << ' '
                 << dependences.getTask(dependence.producer).getName() << '.'
                 << dependence.producerOperand << " -> "
                 << dependences.getTask(dependence.consumer).getName() << '.'
                 << dependence.consumerOperand
                 << (dependence.relation->exact ? "\n" : " (not exact)\n");
    const std::vector<uint32_t> &setOf = dependence.relation->setOf;
    for (size_t begin = 0, end; begin < setOf.size(); begin = end) {
      end = begin + 1;
      while (end < setOf.size() && setOf[end] == setOf[begin])
        ++end;
      if (setOf[begin] == 0)
        continue;
      llvm::outs() << "  [" << begin << ", " << end << ") <-";
      for (auto [first, last] : dependence.relation->sets[setOf[begin]])
        llvm::outs() << " [" << first << ", " << last << ')';
      llvm::outs() << '\n';
    }
  }
};
} // namespace

void mlir::ark::registerTestPrintDependencesPass() {
  PassRegistration<TestPrintDependencesPass>();
}
