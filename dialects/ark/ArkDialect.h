//===- ArkDialect.h - The ark dialect ---------------------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKDIALECT_H
#define DIALECTS_ARK_ARKDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/ark/ArkDialect.h.inc"

#endif // DIALECTS_ARK_ARKDIALECT_H
