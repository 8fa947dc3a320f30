//===- ArkTargetAttrs.cpp - Facts about machines --------------------------===//

#include "dialects/ark/ArkAttrs.h"
#include "dialects/ark/ArkLimits.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::ark;

static bool arePositive(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t number) { return number > 0; });
}

//===----------------------------------------------------------------------===//
// FragmentAttr
//===----------------------------------------------------------------------===//

/// Maximum of an entry of a fragment: the product of three entries fits 64
/// bits.
static constexpr int64_t kMaxFragmentEntry = 1 << 16;

LogicalResult FragmentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> outer,
                                   ArrayRef<int64_t> threads,
                                   ArrayRef<int64_t> strides,
                                   ArrayRef<int64_t> elements) {
  // fragment_c1
  for (ArrayRef<int64_t> entries : {outer, threads, strides, elements})
    if (entries.size() != 2 || !arePositive(entries))
      return emitError() << "fragment has [" << entries
                         << "]; expected two positive numbers";
  // fragment_c2
  for (ArrayRef<int64_t> entries : {outer, threads, strides, elements})
    if (std::max(entries[0], entries[1]) > kMaxFragmentEntry)
      return emitError() << "fragment has [" << entries
                         << "]; expected numbers of at most "
                         << kMaxFragmentEntry;
  return success();
}

std::pair<int64_t, int64_t> FragmentAttr::getOffset(int64_t element) const {
  ArrayRef<int64_t> elements = getElements(), blocks = getOuter();
  int64_t blockIndex = element / (elements[0] * elements[1]);
  int64_t rest = element % (elements[0] * elements[1]);
  auto find = [&](unsigned dim, int64_t block, int64_t own) {
    return block * getThreads()[dim] * elements[dim] + own;
  };
  return {find(0, blockIndex % blocks[0], rest / elements[1]),
          find(1, blockIndex / blocks[0], rest % elements[1])};
}

//===----------------------------------------------------------------------===//
// MmaAttr
//===----------------------------------------------------------------------===//

/// Returns true if a fragment is absent or has this shape.
static bool hasShape(FragmentAttr fragment, int64_t rows, int64_t columns) {
  return !fragment ||
         (fragment.getExtent(0) == rows && fragment.getExtent(1) == columns);
}

LogicalResult MmaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              MmaKind kind, int64_t m, int64_t n, int64_t k,
                              int64_t warps, MmaOperands operands,
                              FragmentAttr lhs, FragmentAttr rhs,
                              FragmentAttr acc) {
  // mma_c1
  if (!arePositive({m, n, k, warps}) || m % warps != 0 ||
      !hasShape(lhs, m, k) || !hasShape(rhs, k, n) ||
      !hasShape(acc, m / warps, n))
    return emitError()
           << "instruction of " << m << " x " << n << " x " << k << " by "
           << warps << " warps has a fragment without the shape of its matrix";
  // mma_c2
  if (!lhs != !rhs || (lhs && warps != 1))
    return emitError() << "instruction by " << warps << " warps has "
                       << (lhs ? "a" : "no") << " `lhs` and "
                       << (rhs ? "a" : "no") << " `rhs`";
  return success();
}

bool MmaAttr::hasOperandsOfSameThreads() const {
  FragmentAttr lhs = getLhs(), rhs = getRhs();
  if (!lhs)
    return false;
  auto isMirrored = [](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
    return left[0] == right[1] && left[1] == right[0];
  };
  return isMirrored(lhs.getThreads(), rhs.getThreads()) &&
         isMirrored(lhs.getStrides(), rhs.getStrides()) &&
         lhs.getOuter()[1] == rhs.getOuter()[0] && rhs.getOuter()[1] == 1 &&
         lhs.getElements()[1] == rhs.getElements()[0] &&
         rhs.getElements()[1] == 1;
}

bool MmaAttr::hasAccumulatorsInThreadsOfLhs() const {
  FragmentAttr lhs = getLhs(), acc = getAcc();
  return lhs && lhs.getThreads() == acc.getThreads() &&
         lhs.getStrides() == acc.getStrides() &&
         lhs.getOuter()[0] == acc.getOuter()[0] && acc.getOuter()[1] == 1 &&
         lhs.getElements()[0] == 1 && acc.getElements()[0] == 1 &&
         acc.getElements()[1] == 2;
}

bool MmaAttr::hasAccumulatorsInThreadsOfRhs() const {
  FragmentAttr rhs = getRhs(), acc = getAcc();
  return rhs && rhs.getThreads() == acc.getThreads() &&
         rhs.getStrides() == acc.getStrides() && acc.getOuter()[1] == 1 &&
         rhs.getOuter()[0] == 1 && rhs.getOuter()[1] == 1 &&
         rhs.getElements()[1] == 1 && acc.getElements()[1] == 1 &&
         acc.getElements()[0] % 2 == 0 &&
         rhs.getElements()[0] % acc.getElements()[0] == 0;
}

//===----------------------------------------------------------------------===//
// MatrixTilesAttr
//===----------------------------------------------------------------------===//

LogicalResult
MatrixTilesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<int64_t> shapes, int64_t depth, int64_t tile,
                        int64_t stageRow, int64_t minStage, int64_t l2,
                        int64_t panel) {
  // matrix_tiles_c1
  if (shapes.size() % 2 != 0 || !arePositive(shapes) ||
      !arePositive({depth, tile, stageRow}) ||
      std::min({minStage, l2, panel}) < 0)
    return emitError() << "matrix tiles have an odd number of entries in "
                          "`shapes`, a number that is not positive, or a "
                          "negative `min_stage`, `l2` or `panel`";
  return success();
}

SmallVector<std::pair<int64_t, int64_t>> MatrixTilesAttr::getTiles() const {
  SmallVector<std::pair<int64_t, int64_t>> tiles;
  for (ArrayRef<int64_t> rest = getShapes(); !rest.empty();
       rest = rest.drop_front(2))
    tiles.emplace_back(rest[0], rest[1]);
  return tiles;
}

//===----------------------------------------------------------------------===//
// ScopesAttr
//===----------------------------------------------------------------------===//

LogicalResult ScopesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef device, StringRef system) {
  // scopes_c1
  auto isName = [](StringRef name) {
    return llvm::all_of(
        name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; });
  };
  if (!device.empty() && isName(device) && isName(system))
    return success();
  return emitError() << "scopes are named '" << device << "' and '" << system
                     << "'; expected letters, digits, '_' and '-', and a name "
                        "for `device`";
}

//===----------------------------------------------------------------------===//
// LinksAttr
//===----------------------------------------------------------------------===//

LogicalResult LinksAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t bandwidth, int64_t smBandwidth,
                                int64_t messageBandwidth, int64_t packet,
                                int64_t message) {
  // links_c1
  if (arePositive({bandwidth, smBandwidth, messageBandwidth}) && packet >= 0 &&
      message >= 0)
    return success();
  return emitError() << "links have bandwidth = " << bandwidth
                     << ", sm_bandwidth = " << smBandwidth
                     << ", message_bandwidth = " << messageBandwidth
                     << ", packet = " << packet << " and message = " << message
                     << "; the first three must be positive";
}

//===----------------------------------------------------------------------===//
// GpuAttr
//===----------------------------------------------------------------------===//

LogicalResult GpuAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t warpSize, StringRef features,
                              ArrayRef<CopyKind> copies, int64_t cluster,
                              int64_t packet, int64_t l1, ScopesAttr scopes,
                              bool fp8, ArrayRef<MmaAttr> mma,
                              MatrixTilesAttr matrixTiles, LinksAttr links) {
  // gpu_c1
  if (!arePositive({warpSize, cluster}) || std::min(packet, l1) < 0)
    return emitError() << "gpu has warp_size = " << warpSize
                       << ", cluster = " << cluster << ", packet = " << packet
                       << " and l1 = " << l1
                       << "; the first two must be positive";
  // gpu_c2
  for (MmaAttr instruction : mma)
    for (FragmentAttr fragment :
         {instruction.getLhs(), instruction.getRhs(), instruction.getAcc()})
      if (fragment && fragment.getNumThreads() != warpSize)
        return emitError() << "gpu with warps of " << warpSize
                           << " threads has a fragment of "
                           << fragment.getNumThreads() << " threads";
  return success();
}

static MmaAttr findMma(ArrayRef<MmaAttr> instructions, bool readsRegisters,
                       MmaOperands operands) {
  const MmaAttr *found = llvm::find_if(instructions, [&](MmaAttr mma) {
    return mma.readsRegisters() == readsRegisters &&
           mma.getOperands() == operands;
  });
  return found == instructions.end() ? MmaAttr() : *found;
}

MmaAttr GpuAttr::findRegisterMma(MmaOperands operands) const {
  return ::findMma(getMma(), /*readsRegisters=*/true, operands);
}

MmaAttr GpuAttr::findSharedMemoryMma() const {
  return ::findMma(getMma(), /*readsRegisters=*/false, MmaOperands::Float16);
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef backend, StringRef arch, int64_t sms,
                                 int64_t warps, int64_t sharedMemory,
                                 int64_t bandwidth, int64_t flops,
                                 int64_t handoff, int64_t barrier,
                                 int64_t overhead, GpuAttr gpu) {
  // target_attr_c1
  if (backend.empty())
    return emitError() << "target has no `backend`";
  if (!gpu != (backend == kCpuBackend))
    return emitError() << "target for " << backend
                       << (gpu ? " has a `gpu`" : " has no `gpu`");
  // target_attr_c2
  const std::pair<StringRef, int64_t> positive[] = {{"sms", sms},
                                                    {"warps", warps},
                                                    {"bandwidth", bandwidth},
                                                    {"flops", flops}};
  for (auto [name, value] : positive)
    if (value <= 0)
      return emitError() << "target has " << name << " = " << value
                         << "; it must be positive";
  // The same limit as in `ark.schedule`.
  if (sms > kMaxSms)
    return emitError() << "target has sms = " << sms << "; at most " << kMaxSms
                       << " are supported";
  const std::pair<StringRef, int64_t> notNegative[] = {
      {"shared_memory", sharedMemory},
      {"handoff", handoff},
      {"barrier", barrier},
      {"overhead", overhead}};
  for (auto [name, value] : notNegative)
    if (value < 0)
      return emitError() << "target has " << name << " = " << value
                         << "; it must not be negative";
  return success();
}
