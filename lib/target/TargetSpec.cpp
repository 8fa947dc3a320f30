//===- TargetSpec.cpp - Known machines ------------------------------------===//

#include "lib/target/TargetSpec.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct KnownGpu {
  Backend backend;
  StringRef arch;
  int64_t sms, warps, sharedMemory, bandwidth, flops, handoff, barrier,
      overhead;
  const MatrixTiles *matrixTiles = nullptr;
};
} // namespace

// Tiles of `wgmma`. The times are those of an H200. For a 4096 cubed matmul,
// tiles of 128 by 128 take 1.55 times as long as large ones.
static constexpr std::pair<int64_t, int64_t> kWarpgroupShapes[] = {
    {256, 128}, {128, 256}, {128, 192}, {128, 128}, {128, 96}};
static constexpr MatrixTiles kWarpgroupTiles = {
    kWarpgroupShapes, /*depth=*/64, /*tileNs=*/3000, /*stageRowNs=*/2.3};

// One representative device per architecture. `bandwidth` and `flops` are the
// figures that a good kernel reaches, not those of the data sheet. The H200 was
// measured. The other devices have the figures of their data sheets, times the
// share that the H200 reaches of its own.
static const KnownGpu knownGpus[] = {
    // A100 80 GB
    {Backend::CUDA, "sm_80", 108, 16, 166912, 1850, 250000, 700, 1200, 250},
    // RTX A6000
    {Backend::CUDA, "sm_86", 84, 16, 101376, 700, 120000, 700, 1200, 250},
    // RTX 4090
    {Backend::CUDA, "sm_89", 128, 16, 101376, 930, 160000, 650, 1100, 200},
    // H200
    {Backend::CUDA, "sm_90a", 132, 16, 232448, 4680, 790000, 600, 950, 200,
     &kWarpgroupTiles},
    // B200
    {Backend::CUDA, "sm_100a", 148, 16, 232448, 7400, 1700000, 600, 1000, 200},
    // MI250X, one die
    {Backend::HIP, "gfx90a", 110, 8, 65536, 1400, 150000, 1200, 2000, 400},
    // MI300X
    {Backend::HIP, "gfx942", 304, 8, 65536, 4300, 800000, 1500, 2500, 400},
    // MI355X
    {Backend::HIP, "gfx950", 256, 8, 163840, 6500, 1600000, 1500, 2500, 400},
};

static const KnownGpu *findGpu(Backend backend, StringRef arch) {
  const KnownGpu *gpu = llvm::find_if(knownGpus, [&](const KnownGpu &known) {
    return known.backend == backend && known.arch == arch;
  });
  return gpu == std::end(knownGpus) ? nullptr : gpu;
}

static std::string listArchs(Backend backend) {
  SmallVector<StringRef> archs;
  for (const KnownGpu &gpu : knownGpus)
    if (gpu.backend == backend)
      archs.push_back(gpu.arch);
  return llvm::join(archs, ", ");
}

/// Returns the figures of one core with wide vectors, times the workers. A
/// worker stands for a core even on a machine with fewer cores, so that a
/// program compiled for cpu:N is the same on every machine.
static TargetAttr getCpu(MLIRContext *context, int64_t workers) {
  // A lane is one thread, whatever its number of warps. Several warps let an SM
  // have several lanes.
  return TargetAttr::get(context, Backend::CPU, "host", workers, /*warps=*/8,
                         /*sharedMemory=*/256 << 10, /*bandwidth=*/10 * workers,
                         /*flops=*/80 * workers, /*handoff=*/200,
                         /*barrier=*/400, /*overhead=*/50);
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
  if (const KnownGpu *gpu = findGpu(backend, arch))
    return TargetAttr::get(loc.getContext(), gpu->backend, gpu->arch, gpu->sms,
                           gpu->warps, gpu->sharedMemory, gpu->bandwidth,
                           gpu->flops, gpu->handoff, gpu->barrier,
                           gpu->overhead);
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

const MatrixTiles *ark::findMatrixTiles(TargetAttr target) {
  const KnownGpu *gpu = findGpu(target.getBackend(), target.getArch());
  return gpu ? gpu->matrixTiles : nullptr;
}
