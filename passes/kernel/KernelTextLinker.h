//===- KernelTextLinker.h - Links texts of the kernel -----------*- C++ -*-===//

#ifndef ARK_PASSES_KERNEL_KERNELTEXTLINKER_H
#define ARK_PASSES_KERNEL_KERNELTEXTLINKER_H

#include "lib/backend/KernelText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::ark {

/// Moves the functions of kernel texts to a module.
class KernelTextLinker {
public:
  /// Takes the names of scopes from the target of the module. `hasRanks` is
  /// true for programs of several ranks, which may be on different GPUs.
  KernelTextLinker(ModuleOp module, bool hasRanks);

  /// Adds the functions of a text. A definition replaces a declaration of the
  /// same function that an earlier text left. Reports an error and fails if the
  /// text is not a valid module, if it names an unknown constant or scope, if a
  /// function of another text has the same name and a different type, or if a
  /// symbol from elsewhere has the name.
  LogicalResult add(KernelText text);

private:
  LogicalResult add(Operation *function, SymbolTable &symbols);

  ModuleOp module;
  /// Names of scopes by the words that stand for them.
  llvm::StringMap<StringRef> scopes;
  /// Symbols that texts have added.
  llvm::StringSet<> added;
};

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_KERNELTEXTLINKER_H
