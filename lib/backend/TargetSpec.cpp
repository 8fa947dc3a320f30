//===- TargetSpec.cpp - Names of targets ----------------------------------===//

#include "lib/backend/TargetSpec.h"

#include "lib/backend/Backend.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Parses `#ark.target<...>` in full.
static FailureOr<TargetAttr> parseInFull(StringRef text, Location loc) {
  // MLIR's parser crashes on some other attributes.
  auto target = text.starts_with("#ark.target<")
                    ? dyn_cast_if_present<TargetAttr>(
                          mlir::parseAttribute(text, loc.getContext()))
                    : TargetAttr();
  if (!target)
    return emitError(loc) << "'" << text << "' is not an #ark.target";
  if (!findBackend(target.getBackend()))
    return emitError(loc) << "the target is for the backend '"
                          << target.getBackend()
                          << "', which this compiler lacks: it has "
                          << listBackends();
  return target;
}

/// Returns the names of targets of all backends, for an error message.
static std::string listTargetNames() {
  SmallVector<std::string> names;
  for (const Backend *backend : getBackends())
    llvm::append_range(names, backend->getTargetNames());
  return llvm::join(names, ", ");
}

FailureOr<TargetAttr> ark::parseTargetSpec(StringRef spec, Location loc) {
  if (spec.starts_with("#"))
    return parseInFull(spec, loc);
  auto [name, arch] = spec.split(':');
  const Backend *backend = findBackend(name);
  if (!backend)
    return emitError(loc) << "target '" << spec
                          << "' is not known: expected one of "
                          << listTargetNames();
  return backend->parseTarget(spec == name ? std::nullopt : std::optional(arch),
                              loc);
}
