//===- ArkInterfaces.h - Op interfaces of ark -------------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKINTERFACES_H
#define DIALECTS_ARK_ARKINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/IndexingMapOpInterface.h"
#include "llvm/ADT/SmallBitVector.h"

#include "dialects/ark/ArkInterfaces.h.inc"

#endif // DIALECTS_ARK_ARKINTERFACES_H
