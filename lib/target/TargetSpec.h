//===- TargetSpec.h - Known machines ----------------------------*- C++ -*-===//

#ifndef ARK_LIB_TARGET_TARGETSPEC_H
#define ARK_LIB_TARGET_TARGETSPEC_H

#include "dialects/ark/ArkAttrs.h"

namespace mlir::ark {

/// Returns the description of a target with a short name:
///
///   cpu, cpu:<workers>     worker threads; one per core of this machine
///   cuda:<arch>            sm_80, sm_86, sm_89, sm_90a, sm_100a
///   hip:<arch>             gfx90a, gfx942, gfx950
///   #ark.target<...>       a description in full
///
/// Fails with a diagnostic at `loc`.
FailureOr<TargetAttr> parseTargetSpec(StringRef spec, Location loc);

} // namespace mlir::ark

#endif // ARK_LIB_TARGET_TARGETSPEC_H
