//===- Bitcode.h - Libraries of LLVM bitcode --------------------*- C++ -*-===//

#ifndef ARK_LIB_TARGET_BITCODE_H
#define ARK_LIB_TARGET_BITCODE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mlir::ark {

/// Returns a library of bitcode with another data layout. LLVM warns when it
/// links modules whose data layouts differ, also if they differ only in types
/// that neither module has. An older LLVM than this one may have written the
/// library. Fails if the bytes are no bitcode, or the layout is not valid.
llvm::Expected<llvm::SmallVector<char, 0>>
setDataLayout(llvm::StringRef bitcode, llvm::StringRef layout);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_BITCODE_H
