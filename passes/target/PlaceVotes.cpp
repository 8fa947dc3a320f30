//===- PlaceVotes.cpp - Words for block-wide votes ------------------------===//

#include "passes/target/KernelCompleter.h"
#include "passes/target/Passes.h"
#include "passes/target/SharedMemory.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLACEVOTESPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr llvm::StringLiteral kVotes = "ark_votes", kWarps = "ark_warps";
static constexpr int64_t kVoteBytes = 4;

namespace {
struct PlaceVotesPass : ark::impl::PlaceVotesPassBase<PlaceVotesPass> {
  using PlaceVotesPassBase::PlaceVotesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelCompleter completer(module);
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    if (!completer.has(kVotes) || !target)
      return;
    for (auto kernel : module.getOps<KernelOp>()) {
      int64_t begin = llvm::alignTo(getSharedBytes(kernel), kSharedAlignment);
      completer.setAddress(kVotes, getSharedMemory(module), begin);
      completer.setNumber(kWarps, target.getWarps());
      if (completer.failed())
        return signalPassFailure();
      setSharedBytes(kernel, begin + target.getWarps() * kVoteBytes);
    }
  }
};
} // namespace
