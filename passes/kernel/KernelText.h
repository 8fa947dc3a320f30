//===- KernelText.h - MLIR texts of the kernel's functions ------*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_KERNELTEXT_H
#define ARK_PASSES_KERNEL_KERNELTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::ark {

/// Functions in MLIR's syntax that kernels of a backend contain. An identifier
/// such as `kReport` in a text stands for a constant of KernelAbi.def.
struct KernelText {
  /// Name of the text's file, for locations.
  StringRef name;
  StringRef text;
};

/// Moves the functions of kernel texts to a module.
class KernelTextLinker {
public:
  explicit KernelTextLinker(ModuleOp module) : module(module) {}

  /// Adds the functions of a text. A definition replaces a declaration of the
  /// same function that an earlier text left. Reports an error and fails if the
  /// text is no valid module, if it names an unknown constant, if a function of
  /// another text has the same name and a different type, or if a symbol from
  /// elsewhere has the name.
  LogicalResult add(KernelText text);

private:
  LogicalResult add(Operation *function, SymbolTable &symbols);

  ModuleOp module;
  /// Symbols that texts have added.
  llvm::StringSet<> added;
};

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_KERNELTEXT_H
