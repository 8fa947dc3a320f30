//===- ArkRepresentative.h - One program for all ranks ----------*- C++ -*-===//

#ifndef ARK_DIALECTS_ARK_ARKREPRESENTATIVE_H
#define ARK_DIALECTS_ARK_ARKREPRESENTATIVE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::ark {

/// On a module: the program of one rank stands for the programs of all ranks.
inline constexpr llvm::StringLiteral kRepresentativeAttr = "ark.representative";

} // namespace mlir::ark

#endif // ARK_DIALECTS_ARK_ARKREPRESENTATIVE_H
