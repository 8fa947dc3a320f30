//===- ArkKnownTargets.h - Machines that ark knows --------------*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKKNOWNTARGETS_H
#define DIALECTS_ARK_ARKKNOWNTARGETS_H

#include "dialects/ark/ArkAttrs.h"

#include <string>

namespace mlir::ark {

/// Returns one device of a GPU architecture, or null if ark does not know it.
TargetAttr findTarget(MLIRContext *context, StringRef backend, StringRef arch);

/// Returns the facts about a GPU architecture, or null if ark does not know it.
GpuAttr findGpu(MLIRContext *context, StringRef backend, StringRef arch);

/// Returns the links of a target, and the links of an H200 if the target does
/// not have any or is null.
LinksAttr findLinks(MLIRContext *context, TargetAttr target);

/// Returns the number of L2 caches of one GPU of a target, or 1 if ark does not
/// know the architecture. CTA `i` of a launch runs on an SM of L2 `i` modulo
/// this number, whatever the number of the launch's CTAs.
int64_t findNumL2s(TargetAttr target);

/// Returns the architectures of a backend, with commas between.
std::string listArchs(StringRef backend);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKKNOWNTARGETS_H
