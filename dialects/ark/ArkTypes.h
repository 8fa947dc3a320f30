//===- ArkTypes.h - Types of ark --------------------------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKTYPES_H
#define DIALECTS_ARK_ARKTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "dialects/ark/ArkTypes.h.inc"

#endif // DIALECTS_ARK_ARKTYPES_H
