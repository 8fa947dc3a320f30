//===- ArkDialect.cpp - The ark dialect -----------------------------------===//

#include "dialects/ark/ArkDialect.h"
#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkConvolutionOps.h"
#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkMeasurements.h"
#include "dialects/ark/ArkOps.h"
#include "dialects/ark/ArkRepresentative.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::ark;

#include "dialects/ark/ArkDialect.cpp.inc"

void ArkDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/ark/ArkOps.cpp.inc"
      >();
  addOperations<ConvolutionOp>();
}

Operation *ArkDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

/// Discardable attributes are part of the language: a misspelt or misplaced
/// attribute is an error and is not dropped in silence.
LogicalResult ArkDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kTargetAttr) {
    if (!isa<ModuleOp>(op))
      return op->emitOpError("carries '")
             << name << "', which belongs on a module";
    if (!isa<TargetAttr>(attribute.getValue()))
      return op->emitOpError("attribute '")
             << name << "' must be an #ark.target";
    return success();
  }
  if (name == kStageAttr || name == kNameAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError("attribute '") << name << "' must be a string";
    return success();
  }
  if (name == kPlanAttr) {
    if (!isa<DictionaryAttr>(attribute.getValue()))
      return op->emitOpError("attribute '") << name << "' must be a dictionary";
    return success();
  }
  if (name == kLargestLiveSetAttr || name == kMemoryLimitAttr) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<ProgramOp>(op) || !bytes || bytes.getInt() < 0)
      return op->emitOpError("attribute '")
             << name << "' must be bytes, on an ark.program";
    return success();
  }
  if (name == kDomainsAttr) {
    auto domains = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    auto isNegative = [](int64_t domain) { return domain < 0; };
    if (!isa<ModuleOp>(op) || !domains ||
        llvm::any_of(domains.asArrayRef(), isNegative))
      return op->emitOpError("attribute '")
             << name << "' must be an array of numbers of domains, on a module";
    return success();
  }
  if (name == kRepresentativeAttr) {
    if (!isa<ModuleOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError("attribute '")
             << name << "' must be a unit attribute, on a module";
    return success();
  }
  if (name == kNetworkAttr) {
    auto network = dyn_cast<StringAttr>(attribute.getValue());
    if (!isa<ModuleOp>(op) || !network ||
        (network != kNcclNetwork && network != kPortChannels))
      return op->emitOpError("attribute '")
             << name << "' must be \"nccl\" or \"mscclpp\", on a module";
    return success();
  }
  if (name == kMeasuredNsAttr)
    return verifyMeasuredNs(op, attribute);
  if (name == kGrowingAttr)
    return verifyGrowing(op, attribute);
  if (isBodyAttr(name))
    return verifyBodyAttr(op, attribute);
  return op->emitOpError("has unknown attribute '") << name << "'";
}

LogicalResult ArkDialect::verifyRegionArgAttribute(Operation *op,
                                                   unsigned regionIndex,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  auto fail = [&](StringRef expected) {
    return op->emitOpError("argument ")
           << argIndex << ": attribute '" << attribute.getName() << "' must be "
           << expected;
  };
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == kKindAttr)
    return isa<ArgumentKindAttr>(value) ? success() : fail("an #ark.kind");
  if (name == kNameAttr)
    return isa<StringAttr>(value) ? success() : fail("a string");
  if (name == kInitAttr)
    return isa<FloatAttr, IntegerAttr>(value) ? success() : fail("a number");
  if (name == kMaxAttr)
    return isa<IntegerAttr>(value) ? success() : fail("an integer");
  if (name == kStopAttr || name == kPacketsAttr)
    return isa<UnitAttr>(value) ? success() : fail("a unit");
  if (name == kValueAttr)
    return isa<ElementsAttr>(value) ? success() : fail("a tensor literal");
  return op->emitOpError("argument ")
         << argIndex << " has unknown attribute '" << name << "'";
}
