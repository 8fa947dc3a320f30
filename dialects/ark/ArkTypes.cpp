//===- ArkTypes.cpp - Types of ark ----------------------------------------===//

#include "dialects/ark/ArkTypes.h"
#include "dialects/ark/ArkDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

#define GET_TYPEDEF_CLASSES
#include "dialects/ark/ArkTypes.cpp.inc"

void ArkDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/ark/ArkTypes.cpp.inc"
      >();
}
