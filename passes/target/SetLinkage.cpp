//===- SetLinkage.cpp - Only the entry is visible -------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SETLINKAGEPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct SetLinkagePass : ark::impl::SetLinkagePassBase<SetLinkagePass> {
  using SetLinkagePassBase::SetLinkagePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    DenseSet<StringAttr> entries, bodies;
    for (auto kernel : module.getOps<KernelOp>()) {
      entries.insert(kernel.getEntryAttr().getAttr());
      for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>())
        if (auto body = entry.getAs<FlatSymbolRefAttr>("function"))
          bodies.insert(body.getAttr());
    }
    if (entries.empty())
      return;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() || entries.contains(function.getSymNameAttr()))
        continue;
      function.setLinkage(LLVM::Linkage::Internal);
      // MLIR's own visibility says the same, to passes over the module.
      SymbolTable::setSymbolVisibility(function,
                                       SymbolTable::Visibility::Private);
      if (bodies.contains(function.getSymNameAttr()))
        function.setNoInline(true);
    }
  }
};
} // namespace
