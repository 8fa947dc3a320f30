//===- TargetSpec.cpp - Known machines ------------------------------------===//

#include "lib/target/TargetSpec.h"

#include "dialects/ark/ArkKnownTargets.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the rates of one core with wide vectors, multiplied by the number of
/// workers. A worker represents a core even on a machine with fewer cores, so
/// that a program compiled for cpu:N is the same on every machine.
static TargetAttr getCpu(MLIRContext *context, int64_t workers) {
  // A lane is one thread, whatever its number of warps. An SM with several
  // warps can have several lanes.
  return TargetAttr::get(context, Backend::CPU, "host", workers, /*warps=*/8,
                         /*sharedMemory=*/256 << 10, /*bandwidth=*/10 * workers,
                         /*flops=*/80 * workers, /*handoff=*/200,
                         /*barrier=*/400, /*overhead=*/50, /*gpu=*/GpuAttr());
}

/// Returns a target with one worker for every core of this machine.
static TargetAttr getHost(Location loc) {
  return getCpu(loc.getContext(),
                llvm::hardware_concurrency().compute_thread_count());
}

static FailureOr<TargetAttr> parseCpu(StringRef arch, Location loc) {
  int64_t workers;
  if (arch.getAsInteger(10, workers) || workers < 1 || workers > 4096)
    return emitError(loc) << "target 'cpu:" << arch
                          << "': the number of workers is not in 1..4096";
  return getCpu(loc.getContext(), workers);
}

static FailureOr<TargetAttr> parseGpu(Backend backend, StringRef arch,
                                      Location loc) {
  if (TargetAttr target = findTarget(loc.getContext(), backend, arch))
    return target;
  return emitError(loc) << "target '" << stringifyBackend(backend) << ":"
                        << arch << "' is not known: expected one of "
                        << listArchs(backend);
}

/// Parses `#ark.target<...>` in full.
static FailureOr<TargetAttr> parseInFull(StringRef text, Location loc) {
  // MLIR's parser crashes on some other attributes.
  if (text.starts_with("#ark.target<"))
    if (auto target = dyn_cast_if_present<TargetAttr>(
            mlir::parseAttribute(text, loc.getContext())))
      return target;
  return emitError(loc) << "'" << text << "' is not an #ark.target";
}

FailureOr<TargetAttr> ark::parseTargetSpec(StringRef spec, Location loc) {
  if (spec.starts_with("#"))
    return parseInFull(spec, loc);
  auto [name, arch] = spec.split(':');
  std::optional<Backend> backend = symbolizeBackend(name);
  if (!backend)
    return emitError(loc) << "target '" << spec
                          << "' is not known: expected cpu, cpu:<workers>, "
                             "cuda:<arch> or hip:<arch>";
  if (*backend == Backend::CPU)
    return spec == name ? getHost(loc) : parseCpu(arch, loc);
  return parseGpu(*backend, arch, loc);
}
