//===- KernelCompleter.h - What a kernel's text leaves open -----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_KERNELCOMPLETER_H
#define ARK_PASSES_TARGET_KERNELCOMPLETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Gives functions that the text of a kernel only declares, or leaves empty,
/// their bodies. Where a function is not there, or has another form than the
/// text gives it, the completer reports an error and `failed` is true.
class KernelCompleter {
public:
  explicit KernelCompleter(ModuleOp module)
      : module(module), symbols(module),
        builder(module.getLoc(), module.getContext()) {}

  bool has(StringRef name) { return static_cast<bool>(lookUp(name)); }
  /// The function returns that number.
  void setNumber(StringRef name, int64_t value);
  /// It returns the address so many bytes behind a global.
  void setAddress(StringRef name, LLVM::GlobalOp global, int64_t offset);
  /// It calls the other with its own arguments.
  void setHook(StringRef hook, StringRef callee);
  bool failed() const { return hasFailed; }

private:
  /// Starts the body of a function that is only declared; null, with an error,
  /// where it is none without arguments and with one result.
  func::FuncOp begin(StringRef name);
  void report(StringRef name, StringRef what);

  func::FuncOp lookUp(StringRef name) {
    return symbols.lookup<func::FuncOp>(name);
  }

  ModuleOp module;
  bool hasFailed = false;
  SymbolTable symbols;
  ImplicitLocOpBuilder builder;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_KERNELCOMPLETER_H
