//===- AllocateVoteSlots.cpp - Words for votes of a CTA -------------------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/tables/KernelTemplate.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_ALLOCATEVOTESLOTSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr llvm::StringLiteral kVotes = "ark_vote_slots",
                                     kWarps = "ark_warps";
static constexpr int64_t kVoteBytes = 4;

namespace {
struct AllocateVoteSlotsPass
    : ark::impl::AllocateVoteSlotsPassBase<AllocateVoteSlotsPass> {
  using AllocateVoteSlotsPassBase::AllocateVoteSlotsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelTemplate kernelTemplate(module);
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    if (!kernelTemplate.has(kVotes) || !target)
      return;
    for (auto kernel : module.getOps<KernelOp>()) {
      int64_t begin = llvm::alignTo(getSharedBytes(kernel), kSharedAlignment);
      kernelTemplate.defineAddress(kVotes, getSharedMemory(module), begin);
      kernelTemplate.defineConstant(kWarps, target.getWarps());
      if (kernelTemplate.failed())
        return signalPassFailure();
      setSharedBytes(kernel, begin + target.getWarps() * kVoteBytes);
    }
  }
};
} // namespace
