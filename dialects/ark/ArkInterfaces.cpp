//===- ArkInterfaces.cpp - Op interfaces of ark ---------------------------===//

#include "dialects/ark/ArkInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

#include "dialects/ark/ArkInterfaces.cpp.inc"
