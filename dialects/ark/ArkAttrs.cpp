//===- ArkAttrs.cpp - Enumerations and attributes of ark ------------------===//

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkDialect.h"
#include "dialects/ark/ArkLimits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// Parses `(d0, d1) -> (d0 * 32, 0)`.
static ParseResult parseRegionMap(AsmParser &parser, AffineMap &map) {
  return parser.parseAffineMap(map);
}

static void printRegionMap(AsmPrinter &printer, AffineMap map) {
  map.print(printer.getStream());
}

#include "dialects/ark/ArkEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/ark/ArkAttrs.cpp.inc"

void ArkDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/ark/ArkAttrs.cpp.inc"
      >();
}

LogicalResult RegionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 AffineMap offsets, ArrayRef<int64_t> sizes) {
  // region_c1
  if (offsets.getNumResults() != sizes.size() || offsets.getNumSymbols() != 0)
    return emitError() << "region has " << offsets.getNumResults()
                       << " offsets for " << sizes.size() << " sizes";
  // region_c2
  for (int64_t size : sizes)
    if (size <= 0)
      return emitError() << "region size " << size << " is not positive";
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Backend backend, StringRef arch, int64_t sms,
                                 int64_t warps, int64_t sharedMemory,
                                 int64_t bandwidth, int64_t flops,
                                 int64_t handoff, int64_t barrier,
                                 int64_t overhead) {
  const std::pair<StringRef, int64_t> positive[] = {{"sms", sms},
                                                    {"warps", warps},
                                                    {"bandwidth", bandwidth},
                                                    {"flops", flops}};
  for (auto [name, value] : positive)
    if (value <= 0)
      return emitError() << "target has " << name << " = " << value
                         << "; it must be positive";
  // A schedule has a lane for every SM.
  if (sms > kMaxSms)
    return emitError() << "target has sms = " << sms << "; at most " << kMaxSms
                       << " are supported";
  const std::pair<StringRef, int64_t> notNegative[] = {
      {"shared_memory", sharedMemory},
      {"handoff", handoff},
      {"barrier", barrier},
      {"overhead", overhead}};
  for (auto [name, value] : notNegative)
    if (value < 0)
      return emitError() << "target has " << name << " = " << value
                         << "; it must not be negative";
  return success();
}
