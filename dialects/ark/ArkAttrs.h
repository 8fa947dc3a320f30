//===- ArkAttrs.h - Enumerations and attributes of ark ----------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKATTRS_H
#define DIALECTS_ARK_ARKATTRS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "dialects/ark/ArkEnums.h.inc"

namespace mlir::ark {

/// The backend of processors. All other backends are those of GPUs.
inline constexpr llvm::StringLiteral kCpuBackend = "cpu";

} // namespace mlir::ark

#define GET_ATTRDEF_CLASSES
#include "dialects/ark/ArkAttrs.h.inc"

#endif // DIALECTS_ARK_ARKATTRS_H
