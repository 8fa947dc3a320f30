//===- ArkOps.h - Ops of ark ------------------------------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKOPS_H
#define DIALECTS_ARK_ARKOPS_H

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkDialect.h"
#include "dialects/ark/ArkInterfaces.h"
#include "dialects/ark/ArkTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/IndexingMapOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#define GET_OP_CLASSES
#include "dialects/ark/ArkOps.h.inc"

#endif // DIALECTS_ARK_ARKOPS_H
