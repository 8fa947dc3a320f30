//===- ArkKnownTargets.cpp - Machines that ark knows ----------------------===//

#include "dialects/ark/ArkKnownTargets.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

// Scopes of PTX, and fragments of its matrix instructions.
#define PTX_SCOPES "scopes = #ark.scopes<device = \"gpu\", system = \"sys\">"

#define MMA_SYNC                                                               \
  "#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16,"                           \
  "  lhs = #ark.fragment<outer = [2, 2], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 2]>,"                \
  "  rhs = #ark.fragment<outer = [2, 1], threads = [4, 8],"                    \
  "                      strides = [1, 4], elements = [2, 1]>,"                \
  "  acc = #ark.fragment<outer = [2, 1], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 2]>>"

#define WGMMA                                                                  \
  "#ark.mma<kind = wgmma, m = 64, n = 8, k = 16, warps = 4,"                   \
  "  acc = #ark.fragment<outer = [2, 1], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 2]>>"

#define MFMA                                                                   \
  "#ark.mma<kind = mfma, m = 16, n = 16, k = 16,"                              \
  "  lhs = #ark.fragment<outer = [1, 1], threads = [16, 4],"                   \
  "                      strides = [1, 16], elements = [1, 4]>,"               \
  "  rhs = #ark.fragment<outer = [1, 1], threads = [4, 16],"                   \
  "                      strides = [16, 1], elements = [4, 1]>,"               \
  "  acc = #ark.fragment<outer = [1, 1], threads = [4, 16],"                   \
  "                      strides = [16, 1], elements = [4, 1]>>"

static constexpr StringLiteral kAmpere =
    R"(#ark.gpu<warp_size = 32, features = "+ptx80", copies = [cp_async],
                packet = 8, mma = [)" MMA_SYNC "], " PTX_SCOPES ">";

static constexpr StringLiteral kAda =
    R"(#ark.gpu<warp_size = 32, features = "+ptx81", copies = [cp_async],
                packet = 8, fp8 = true, mma = [)" MMA_SYNC "], " PTX_SCOPES ">";

// The times of tiles were measured on an H200. For a 4096 cubed matmul, tiles
// of 128 by 128 take 1.55 times as long as large tiles.
static constexpr StringLiteral kHopper =
    R"(#ark.gpu<warp_size = 32, features = "+ptx86",
                copies = [cp_async, bulk, tensor_map], cluster = 8, packet = 8,
                fp8 = true, mma = [)" MMA_SYNC ", " WGMMA "], " PTX_SCOPES R"(,
                matrix_tiles = #ark.matrix_tiles<
                  shapes = [256, 128, 128, 256, 128, 192, 128, 128, 128, 96],
                  depth = 64, tile = 3000, stage_row = 2300, panel = 64>>)";

static constexpr StringLiteral kBlackwell =
    R"(#ark.gpu<warp_size = 32, features = "+ptx87",
                copies = [cp_async, bulk, tensor_map], cluster = 8, packet = 8,
                fp8 = true, mma = [)" MMA_SYNC "], " PTX_SCOPES ">";

// Scopes are those of LLVM.
static constexpr StringLiteral kCdna =
    R"(#ark.gpu<warp_size = 64, scopes = #ark.scopes<device = "agent">,
                mma = [)" MFMA "]>";

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {
struct KnownGpu {
  StringRef backend, arch;
  int64_t sms, warps, sharedMemory, bandwidth, flops, handoff, barrier,
      overhead;
  /// The text of an `#ark.gpu`.
  StringRef facts;
};
} // namespace

// One representative device per architecture. `bandwidth` and `flops` are rates
// that a good kernel reaches, not rates of the data sheet. The rates of the
// H200 are measured. The rates of the other devices are rates of data sheets,
// multiplied by the fraction of its data sheet that the H200 reaches.
static constexpr KnownGpu knownGpus[] = {
    // A100 80 GB
    {"cuda", "sm_80", 108, 16, 166912, 1850, 250000, 700, 1200, 250, kAmpere},
    // RTX A6000
    {"cuda", "sm_86", 84, 16, 101376, 700, 120000, 700, 1200, 250, kAmpere},
    // RTX 4090
    {"cuda", "sm_89", 128, 16, 101376, 930, 160000, 650, 1100, 200, kAda},
    // H200
    {"cuda", "sm_90a", 132, 16, 232448, 4680, 790000, 600, 950, 200, kHopper},
    // B200
    {"cuda", "sm_100a", 148, 16, 232448, 7400, 1700000, 600, 1000, 200,
     kBlackwell},
    // MI250X, one die
    {"hip", "gfx90a", 110, 8, 65536, 1400, 150000, 1200, 2000, 400, kCdna},
    // MI300X
    {"hip", "gfx942", 304, 8, 65536, 4300, 800000, 1500, 2500, 400, kCdna},
    // MI355X
    {"hip", "gfx950", 256, 8, 163840, 6500, 1600000, 1500, 2500, 400, kCdna},
};

static const KnownGpu *findKnown(StringRef backend, StringRef arch) {
  const KnownGpu *gpu = llvm::find_if(knownGpus, [&](const KnownGpu &known) {
    return known.backend == backend && known.arch == arch;
  });
  return gpu == std::end(knownGpus) ? nullptr : gpu;
}

GpuAttr ark::findGpu(MLIRContext *context, StringRef backend, StringRef arch) {
  const KnownGpu *gpu = findKnown(backend, arch);
  return gpu ? cast<GpuAttr>(mlir::parseAttribute(gpu->facts, context))
             : GpuAttr();
}

TargetAttr ark::findTarget(MLIRContext *context, StringRef backend,
                           StringRef arch) {
  const KnownGpu *gpu = findKnown(backend, arch);
  if (!gpu)
    return TargetAttr();
  return TargetAttr::get(context, backend, arch, gpu->sms, gpu->warps,
                         gpu->sharedMemory, gpu->bandwidth, gpu->flops,
                         gpu->handoff, gpu->barrier, gpu->overhead,
                         findGpu(context, backend, arch));
}

std::string ark::listArchs(StringRef backend) {
  SmallVector<StringRef> archs;
  for (const KnownGpu &gpu : knownGpus)
    if (gpu.backend == backend)
      archs.push_back(gpu.arch);
  return llvm::join(archs, ", ");
}
