//===- NameLocations.cpp - Move names of ops into locations ---------------===//

#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

namespace mlir::ark {
#define GEN_PASS_DEF_NAMELOCATIONSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct NameLocationsPass : ark::impl::NameLocationsPassBase<NameLocationsPass> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front()) {
      auto name = dyn_cast_or_null<StringAttr>(
          op.removeDiscardableAttr(ArkDialect::kNameAttr));
      // Locations from the builder already contain the name, with the callers.
      if (!name || getUserName(op.getLoc()) == name.getValue())
        continue;
      op.setLoc(NameLoc::get(name, op.getLoc()));
      ++numNamed;
    }
  }
};
} // namespace
