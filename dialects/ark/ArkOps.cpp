//===- ArkOps.cpp - Definitions generated from ArkOps.td ------------------===//

#include "dialects/ark/ArkOps.h"
#include "dialects/ark/ArkAssembly.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

#define GET_OP_CLASSES
#include "dialects/ark/ArkOps.cpp.inc"
