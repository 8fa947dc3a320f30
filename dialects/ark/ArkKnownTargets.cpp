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

// Four elements of 8 bits along K take the place of two of 16 bits.
#define MMA_SYNC_I8                                                            \
  "#ark.mma<kind = mma_sync, m = 16, n = 8, k = 32, operands = i8,"            \
  "  lhs = #ark.fragment<outer = [2, 2], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 4]>,"                \
  "  rhs = #ark.fragment<outer = [2, 1], threads = [4, 8],"                    \
  "                      strides = [1, 4], elements = [4, 1]>,"                \
  "  acc = #ark.fragment<outer = [2, 1], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 2]>>"

#define WGMMA                                                                  \
  "#ark.mma<kind = wgmma, m = 64, n = 8, k = 16, warps = 4,"                   \
  "  acc = #ark.fragment<outer = [2, 1], threads = [8, 4],"                    \
  "                      strides = [4, 1], elements = [1, 2]>>"

// Instructions of AMD for 16 by 16 and 32 by 32 accumulators. Each thread has
// `ELEMENTS` elements of the operands along K.
#define MFMA_16(OPERANDS, K, ELEMENTS)                                         \
  "#ark.mma<kind = mfma, m = 16, n = 16, k = " K ","                           \
  "  operands = " OPERANDS ","                                                 \
  "  lhs = #ark.fragment<outer = [1, 1], threads = [16, 4],"                   \
  "                      strides = [1, 16], elements = [1, " ELEMENTS "]>,"    \
  "  rhs = #ark.fragment<outer = [1, 1], threads = [4, 16],"                   \
  "                      strides = [16, 1], elements = [" ELEMENTS ", 1]>,"    \
  "  acc = #ark.fragment<outer = [1, 1], threads = [4, 16],"                   \
  "                      strides = [16, 1], elements = [4, 1]>>"

#define MFMA_32(OPERANDS, K, ELEMENTS)                                         \
  "#ark.mma<kind = mfma, m = 32, n = 32, k = " K ","                           \
  "  operands = " OPERANDS ","                                                 \
  "  lhs = #ark.fragment<outer = [1, 1], threads = [32, 2],"                   \
  "                      strides = [1, 32], elements = [1, " ELEMENTS "]>,"    \
  "  rhs = #ark.fragment<outer = [1, 1], threads = [2, 32],"                   \
  "                      strides = [32, 1], elements = [" ELEMENTS ", 1]>,"    \
  "  acc = #ark.fragment<outer = [4, 1], threads = [2, 32],"                   \
  "                      strides = [32, 1], elements = [4, 1]>>"

static constexpr StringLiteral kAmpere =
    R"(#ark.gpu<warp_size = 32, features = "+ptx80", copies = [cp_async],
                packet = 8, mma = [)" MMA_SYNC ", " MMA_SYNC_I8 "], " PTX_SCOPES
    ">";

static constexpr StringLiteral kAda =
    R"(#ark.gpu<warp_size = 32, features = "+ptx81", copies = [cp_async],
                packet = 8, fp8 = true, mma = [)" MMA_SYNC ", " MMA_SYNC_I8
    "], " PTX_SCOPES ">";

// The times of tiles were measured on an H200, for products of 64 to 4096 rows.
// The shared memory delivers 128 bytes, one row of a stage, in 707 ps. The
// addition of split-K parts takes 3 to 9 us for 8 MiB, and 15 us for 16 MiB.
static constexpr StringLiteral kHopper =
    R"(#ark.gpu<warp_size = 32, features = "+ptx86",
                copies = [cp_async, bulk, tensor_map], cluster = 8, packet = 8,
                fp8 = true, mma = [)" MMA_SYNC ", " WGMMA ", " MMA_SYNC_I8
    "], " PTX_SCOPES R"(,
                matrix_tiles = #ark.matrix_tiles<
                  shapes = [256, 128, 256, 112, 128, 256, 128, 192, 128, 160,
                            128, 128, 128, 112, 128, 96, 128, 80, 128, 64,
                            64, 256, 64, 128, 64, 64, 128, 48, 128, 32, 64, 32],
                  depth = 64, tile = 3000, stage_row = 707,
                  min_stage = 294, l2 = 8388608, panel = 64>>)";

static constexpr StringLiteral kBlackwell =
    R"(#ark.gpu<warp_size = 32, features = "+ptx87",
                copies = [cp_async, bulk, tensor_map], cluster = 8, packet = 8,
                fp8 = true, mma = [)" MMA_SYNC ", " MMA_SYNC_I8 "], " PTX_SCOPES
    ">";

// Tiles whose stages threads store to shared memory. The time of a stage row
// follows from the rates of the matrix instructions in data sheets, of which
// kernels are assumed to reach 70 %. No time was measured.
#define CDNA_TILES(STAGE_ROW)                                                  \
  "matrix_tiles = #ark.matrix_tiles<"                                          \
  "  shapes = [256, 128, 128, 256, 128, 128], depth = 64, tile = 3000,"        \
  "  stage_row = " STAGE_ROW ", panel = 64>"

// The memory scopes have the names of LLVM's AMDGPU backend. Its atomic stores
// have at most 64 bits.
#define CDNA                                                                   \
  "#ark.gpu<warp_size = 64, packet = 8,"                                       \
  " scopes = #ark.scopes<device = \"agent\">,"

#define CDNA_F16 MFMA_16("f16", "16", "4") ", " MFMA_32("f16", "8", "4") ", "

#define CDNA2_I8 MFMA_16("i8", "16", "4") ", " MFMA_32("i8", "8", "4")

#define CDNA3_I8 MFMA_16("i8", "32", "8") ", " MFMA_32("i8", "16", "8")

static constexpr StringLiteral kCdna2 =
    CDNA "mma = [" CDNA_F16 CDNA2_I8 "], " CDNA_TILES("9000") ">";

// The fp8 of gfx942's instructions is FNUZ, which ark has no type for.
static constexpr StringLiteral kCdna3 =
    CDNA "mma = [" CDNA_F16 CDNA3_I8 "], " CDNA_TILES("3600") ">";

// gfx950 also has instructions of twice the depth, and its loads to LDS take 16
// bytes per thread. Those of gfx90a and gfx942 take 4 bytes.
#define CDNA4_F16                                                              \
  MFMA_16("f16", "16", "4")                                                    \
  ", " MFMA_16("f16", "32", "8") ", " MFMA_32("f16", "16", "8") ", "

#define CDNA4_F8 MFMA_16("f8", "32", "8") ", " MFMA_32("f8", "16", "8") ", "

#define CDNA4_I8                                                               \
  CDNA3_I8 ", " MFMA_16("i8", "64", "16") ", " MFMA_32("i8", "32", "16")

static constexpr StringLiteral kCdna4 =
    CDNA "copies = [load_lds], mma = [" CDNA4_F16 CDNA4_F8 CDNA4_I8
         "], " CDNA_TILES("1600") ">";

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

namespace {
struct KnownGpu {
  StringRef backend, arch;
  int64_t sms, warps, sharedMemory, bandwidth, flops, handoff, barrier,
      overhead;
  /// The rate of all links to other GPUs, in one direction, from the data
  /// sheet, in GB/s.
  int64_t links;
  /// Bytes of the L1 of one SM, from the data sheet. On NVIDIA GPUs the L1 and
  /// the shared memory are parts of it.
  int64_t l1;
  /// The text of an `#ark.gpu`.
  StringRef facts;
  /// L2s of the GPU, from the data sheet: one for each XCD on AMD GPUs.
  int64_t l2s = 1;
};
} // namespace

static constexpr int64_t kLinksOfH200 = 450;
static constexpr int64_t kKiB = 1024;

// One representative device per architecture. `bandwidth` and `flops` are rates
// that a good kernel reaches, not rates of the data sheet. The rates of the
// H200 are measured. The rates of the other devices are rates of data sheets,
// multiplied by the fraction of its data sheet that the H200 reaches.
static constexpr KnownGpu knownGpus[] = {
    // A100 80 GB
    {"cuda", "sm_80", 108, 16, 166912, 1850, 250000, 700, 1200, 250, 300,
     192 * kKiB, kAmpere},
    // RTX A6000
    {"cuda", "sm_86", 84, 16, 101376, 700, 120000, 700, 1200, 250, 32,
     128 * kKiB, kAmpere},
    // RTX 4090
    {"cuda", "sm_89", 128, 16, 101376, 930, 160000, 650, 1100, 200, 32,
     128 * kKiB, kAda},
    // H200
    {"cuda", "sm_90a", 132, 16, 232448, 4680, 790000, 600, 950, 200,
     kLinksOfH200, 256 * kKiB, kHopper},
    // B200
    {"cuda", "sm_100a", 148, 16, 232448, 7400, 1700000, 600, 1000, 200, 900,
     256 * kKiB, kBlackwell},
    // MI250X, one die
    {"hip", "gfx90a", 110, 4, 65536, 1400, 150000, 1200, 2000, 400, 200,
     16 * kKiB, kCdna2},
    // MI300X
    {"hip", "gfx942", 304, 4, 65536, 4300, 800000, 1500, 2500, 400, 448,
     32 * kKiB, kCdna3, /*l2s=*/8},
    // MI355X
    {"hip", "gfx950", 256, 4, 163840, 6500, 1600000, 1500, 2500, 400, 538,
     32 * kKiB, kCdna4, /*l2s=*/8},
};

/// Returns the rates of links that reach `rate` GB/s by the data sheet.
///
/// Fitted to all-reduces of 2 KiB to 16 MiB among four H200 with NVLink, and to
/// puts of 16 and 32 MiB between two H200 by all SMs and by 8 SMs
/// (benchmarks/results/2026-11-26-four-gpus.md, 2026-11-28-h200-exchange.md).
/// Other links are assumed to have the same latency, and to reach the same
/// fraction of their data sheet.
static LinksAttr makeLinks(MLIRContext *context, int64_t rate) {
  int64_t bandwidth = 370 * rate / kLinksOfH200;
  return LinksAttr::get(context, bandwidth,
                        /*smBandwidth=*/std::min<int64_t>(33, bandwidth),
                        /*messageBandwidth=*/287 * rate / kLinksOfH200,
                        /*packet=*/900, /*message=*/8000);
}

static const KnownGpu *findKnown(StringRef backend, StringRef arch) {
  const KnownGpu *gpu = llvm::find_if(knownGpus, [&](const KnownGpu &known) {
    return known.backend == backend && known.arch == arch;
  });
  return gpu == std::end(knownGpus) ? nullptr : gpu;
}

GpuAttr ark::findGpu(MLIRContext *context, StringRef backend, StringRef arch) {
  const KnownGpu *gpu = findKnown(backend, arch);
  if (!gpu)
    return GpuAttr();
  auto facts = cast<GpuAttr>(mlir::parseAttribute(gpu->facts, context));
  return GpuAttr::get(context, facts.getWarpSize(), facts.getFeatures(),
                      facts.getCopies(), facts.getCluster(), facts.getPacket(),
                      gpu->l1, facts.getScopes(), facts.getFp8(),
                      facts.getMma(), facts.getMatrixTiles(),
                      makeLinks(context, gpu->links));
}

LinksAttr ark::findLinks(MLIRContext *context, TargetAttr target) {
  LinksAttr links =
      target && target.isGpu() ? target.getGpu().getLinks() : LinksAttr();
  return links ? links : makeLinks(context, kLinksOfH200);
}

int64_t ark::findNumL2s(TargetAttr target) {
  const KnownGpu *gpu = findKnown(target.getBackend(), target.getArch());
  return gpu ? gpu->l2s : 1;
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
