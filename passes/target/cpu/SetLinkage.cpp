//===- SetLinkage.cpp - Hides all functions but the entry -----------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/target/cpu/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SETLINKAGEPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Fails unless the module defines the function. Without this check, a misspelt
/// name of the entry would surface only when the runtime loads the object.
static LogicalResult checkFunction(KernelOp kernel, SymbolTable &symbols,
                                   StringAttr name, StringRef role) {
  auto function = name ? symbols.lookup<LLVM::LLVMFuncOp>(name) : nullptr;
  if (function && !function.isExternal())
    return success();
  InFlightDiagnostic diagnostic = kernel.emitOpError("has no LLVM function");
  if (name)
    diagnostic << " '@" << name.getValue() << "'";
  return diagnostic << " for its " << role;
}

namespace {
struct SetLinkagePass : ark::impl::SetLinkagePassBase<SetLinkagePass> {
  using SetLinkagePassBase::SetLinkagePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    DenseSet<StringAttr> entries, bodies;
    for (auto kernel : module.getOps<KernelOp>())
      if (failed(collect(kernel, symbols, entries, bodies)))
        return signalPassFailure();
    if (entries.empty())
      return;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() || entries.contains(function.getSymNameAttr()))
        continue;
      function.setLinkage(LLVM::Linkage::Internal);
      // MLIR's visibility gives the same information to passes on the module.
      SymbolTable::setSymbolVisibility(function,
                                       SymbolTable::Visibility::Private);
      if (bodies.contains(function.getSymNameAttr()))
        function.setNoInline(true);
    }
  }

  LogicalResult collect(KernelOp kernel, SymbolTable &symbols,
                        DenseSet<StringAttr> &entries,
                        DenseSet<StringAttr> &bodies) {
    entries.insert(kernel.getEntryAttr().getAttr());
    if (failed(checkFunction(kernel, symbols, kernel.getEntryAttr().getAttr(),
                             "entry")))
      return failure();
    for (auto [index, entry] : llvm::enumerate(kernel.getBodies())) {
      auto dictionary = dyn_cast<DictionaryAttr>(entry);
      auto body = dictionary ? dictionary.getAs<FlatSymbolRefAttr>("function")
                             : nullptr;
      if (failed(checkFunction(kernel, symbols,
                               body ? body.getAttr() : StringAttr(),
                               ("body " + Twine(index)).str())))
        return failure();
      bodies.insert(body.getAttr());
    }
    return success();
  }
};
} // namespace
