//===- TargetSpec.h - Names of targets --------------------------*- C++ -*-===//

#ifndef ARK_LIB_BACKEND_TARGETSPEC_H
#define ARK_LIB_BACKEND_TARGETSPEC_H

#include "dialects/ark/ArkAttrs.h"

namespace mlir::ark {

/// Returns the target with a name. A name is that of a backend, that of a
/// backend and an architecture, such as `cpu:4` or `cuda:sm_90a`, or the text
/// of an `#ark.target<...>`. Fails with a diagnostic at `loc`.
FailureOr<TargetAttr> parseTargetSpec(StringRef spec, Location loc);

} // namespace mlir::ark

#endif // ARK_LIB_BACKEND_TARGETSPEC_H
