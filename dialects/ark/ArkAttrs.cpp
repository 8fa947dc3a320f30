//===- ArkAttrs.cpp - Enumerations and attributes of ark ------------------===//

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkDialect.h"
#include "dialects/ark/ArkKnownTargets.h"
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

/// Parses a list in brackets.
template <typename T>
static ParseResult parseList(AsmParser &parser, SmallVector<T> &list) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<T> element = FieldParser<T>::parse(parser);
        if (failed(element))
          return failure();
        list.push_back(*element);
        return success();
      });
}

template <typename T>
static void printList(AsmPrinter &printer, ArrayRef<T> list) {
  printer << '[';
  printer.printStrippedAttrOrType(list);
  printer << ']';
}

/// Parses a word without quotes.
static ParseResult parseWord(AsmParser &parser, std::string &word) {
  return parser.parseKeywordOrString(&word);
}

static void printWord(AsmPrinter &printer, StringRef word) {
  printer.printKeywordOrString(word);
}

/// Parses `, gpu = #ark.gpu<...>`. If it is missing, uses ark's description of
/// the architecture.
static ParseResult parseGpu(AsmParser &parser, GpuAttr &gpu, StringRef backend,
                            StringRef arch) {
  if (succeeded(parser.parseOptionalComma()))
    return failure(failed(parser.parseKeyword("gpu")) ||
                   failed(parser.parseEqual()) ||
                   failed(parser.parseAttribute(gpu)));
  if (backend == kCpuBackend)
    return success();
  gpu = findGpu(parser.getContext(), backend, arch);
  if (gpu)
    return success();
  return parser.emitError(parser.getCurrentLocation())
         << "architecture '" << arch
         << "' is not known: state `gpu = #ark.gpu<...>`";
}

static void printGpu(AsmPrinter &printer, GpuAttr gpu, StringRef backend,
                     StringRef arch) {
  if (gpu && gpu != findGpu(gpu.getContext(), backend, arch))
    printer << ", gpu = " << gpu;
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
