//===- KernelTemplate.h - Completes the text of a kernel --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TABLES_KERNELTEMPLATE_H
#define ARK_PASSES_TARGET_TABLES_KERNELTEMPLATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Fills in the bodies of functions that the kernel's text only declares, and
/// inserts calls into its callbacks. Reports an error if a function is missing
/// or has an unexpected type; `failed` then returns true.
class KernelTemplate {
public:
  explicit KernelTemplate(ModuleOp module)
      : module(module), symbols(module),
        builder(module.getLoc(), module.getContext()) {}

  bool has(StringRef name) { return static_cast<bool>(lookUp(name)); }
  /// Defines the function `name` to return `value`.
  void defineConstant(StringRef name, int64_t value);
  /// Defines the function `name` to return the address of byte `offset` of a
  /// global.
  void defineAddress(StringRef name, LLVM::GlobalOp global, int64_t offset);
  /// Makes the empty function `callback` call `callee` with its own arguments.
  void setCallee(StringRef callback, StringRef callee);
  bool failed() const { return hasFailed; }

private:
  /// Creates the body of a declared function. Reports an error and returns null
  /// unless the function has no arguments and one result.
  func::FuncOp begin(StringRef name);
  void report(StringRef name, StringRef problem);

  func::FuncOp lookUp(StringRef name) {
    return symbols.lookup<func::FuncOp>(name);
  }

  ModuleOp module;
  bool hasFailed = false;
  SymbolTable symbols;
  ImplicitLocOpBuilder builder;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TABLES_KERNELTEMPLATE_H
