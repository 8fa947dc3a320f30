//===- KernelText.h - MLIR texts of the kernel's functions ------*- C++ -*-===//

#ifndef ARK_LIB_BACKEND_KERNELTEXT_H
#define ARK_LIB_BACKEND_KERNELTEXT_H

#include "llvm/ADT/StringRef.h"

namespace mlir::ark {

/// Functions in MLIR's syntax that kernels of a backend contain. An identifier
/// such as `kReport` in a text stands for a constant of KernelAbi.def. In a
/// string, `<device>` and `<system>` stand for names of the target's scopes,
/// and `<ranks>` for the name of the scope that contains all ranks of the
/// program. `add_ark_kernel_texts` generates a header with the texts of a
/// folder, `KernelTexts.h.inc`.
struct KernelText {
  /// Name of the text's file, for locations.
  llvm::StringRef name;
  llvm::StringRef text;
};

} // namespace mlir::ark

#endif // ARK_LIB_BACKEND_KERNELTEXT_H
