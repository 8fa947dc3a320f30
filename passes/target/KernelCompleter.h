//===- KernelCompleter.h - What a kernel's text leaves open -----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_KERNELCOMPLETER_H
#define ARK_PASSES_TARGET_KERNELCOMPLETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Gives functions that the text of a kernel only declares, or leaves empty,
/// their bodies.
class KernelCompleter {
public:
  explicit KernelCompleter(ModuleOp module)
      : symbols(module), builder(module.getLoc(), module.getContext()) {}

  bool has(StringRef name) { return static_cast<bool>(lookUp(name)); }
  /// The function returns that number.
  void setNumber(StringRef name, int64_t value);
  /// It returns the address so many bytes behind a global.
  void setAddress(StringRef name, LLVM::GlobalOp global, int64_t offset);
  /// It calls the other with its own arguments.
  void setHook(StringRef hook, StringRef callee);

private:
  func::FuncOp lookUp(StringRef name) {
    return symbols.lookup<func::FuncOp>(name);
  }

  SymbolTable symbols;
  ImplicitLocOpBuilder builder;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_KERNELCOMPLETER_H
