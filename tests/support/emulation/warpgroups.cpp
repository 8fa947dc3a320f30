//===- warpgroups.cpp - Matrix products of warpgroups ---------------------===//
//
// A product reads its operands at any time until the wait for its group. The
// accumulators are in registers, which LLVM's IR does not name: the instruction
// returns tokens instead, which are NaNs. lower.py calls `simt_resolve` for
// every use of a token other than by another product.

#include "warpgroups.h"

#include "layout.h"
#include "memory.h"
#include "shared.h"
#include "widen.h"

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

using namespace simt;

namespace {
constexpr int kDepth = 16, kRows = 16, kMostColumns = 256;
/// The maximum number of accumulators of a thread in use at once.
constexpr int kAccumulators = 64;
/// A token: a quiet NaN with the numbers of the accumulator and of the element.
constexpr uint32_t kToken = 0x7fd00000, kTokenMask = 0xfffe0000;
constexpr int kSumBits = 7, kNumberBits = 10;

/// The accumulators of a thread.
struct Accumulator {
  int number = -1;
  std::vector<float> sums;
  /// Products without a wait so far.
  int open = 0;
};

/// A product of one warp.
struct Product {
  int columns;
  bool isHalf;
  uint64_t left, right;
  std::array<Accumulator *, kWarpSize> accumulators;
  /// True if the product has read its operands before the wait.
  bool isAdded = false;
};
using Group = std::vector<Product>;

struct Warp {
  Group open;
  std::deque<Group> groups;
  /// True if the registers that products will read are fenced.
  bool isFenced = false;
};

struct CtaProducts {
  std::vector<Warp> warps;
  std::vector<std::array<Accumulator, kAccumulators>> threads;
  std::vector<int> next;
};

std::vector<std::unique_ptr<CtaProducts>> all;
} // namespace

void simt::beginWarpgroups(int ctas, int threads) {
  all.clear();
  for (int i = 0; i < ctas; ++i) {
    auto &own = all.emplace_back(std::make_unique<CtaProducts>());
    own->warps.resize((threads + kWarpSize - 1) / kWarpSize);
    own->threads.resize(threads);
    own->next.assign(threads, 0);
  }
}

static CtaProducts &getOwn() { return *all[getCta()]; }
static Warp &getWarp(int thread) { return getOwn().warps[thread / kWarpSize]; }

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static uint32_t makeToken(const Accumulator &accumulator, int sum) {
  return kToken | (accumulator.number % (1 << kNumberBits)) << kSumBits | sum;
}

static bool isToken(uint32_t bits) { return (bits & kTokenMask) == kToken; }

/// Returns the accumulator of a token; null if the value is no token.
static Accumulator *findAccumulator(int thread, uint32_t bits) {
  if (!isToken(bits))
    return nullptr;
  int number = bits >> kSumBits & ((1 << kNumberBits) - 1);
  Accumulator &found = getOwn().threads[thread][number % kAccumulators];
  if (found.number < 0 || found.number % (1 << kNumberBits) != number)
    fail("uses a sum of wgmma that is lost");
  return &found;
}

static int getSum(uint32_t bits) { return bits & ((1 << kSumBits) - 1); }

/// Returns a number, or the accumulator element of a token.
extern "C" float simt_resolve(float number, int site) {
  uint32_t bits = __builtin_bit_cast(uint32_t, number);
  if (!isToken(bits))
    return number;
  simt_enter(site);
  Accumulator &accumulator = *findAccumulator(getThread(), bits);
  if (accumulator.open)
    fail("uses a sum before wgmma.wait_group has waited for it");
  getWarp(getThread()).isFenced = false;
  return accumulator.sums[getSum(bits)];
}

/// Returns the accumulators of an instruction: those of the products before it,
/// or new ones with the values of registers.
static Accumulator &getAccumulator(int thread, Slot *sums, int count,
                                   bool adds) {
  Accumulator *found = findAccumulator(thread, sums[0].as<uint32_t>());
  bool isSame = found && adds && int(found->sums.size()) == count;
  for (int i = 0; isSame && i < count; ++i)
    isSame = sums[i].as<uint32_t>() == makeToken(*found, i);
  if (isSame)
    return *found;
  if (!getWarp(thread).isFenced)
    fail("wgmma of registers that no wgmma.fence has fenced");
  int number = getOwn().next[thread]++;
  Accumulator &made = getOwn().threads[thread][number % kAccumulators];
  if (made.open)
    fail("wgmma has more than %d accumulators under way", kAccumulators);
  std::vector<float> values(count);
  for (int i = 0; i < count && adds; ++i)
    values[i] = simt_resolve(sums[i].as<float>(), getSite());
  made = {number, std::move(values), 0};
  return made;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// An operand in shared memory: rows along the depth, in parts of eight rows.
struct Factor {
  Factor(uint64_t descriptor, bool isHalf) : isHalf(isHalf) {
    begin = (descriptor & 0x3fff) << 4;
    perDepth = (descriptor >> 16 & 0x3fff) << 4;
    perRows = (descriptor >> 32 & 0x3fff) << 4;
    swizzle = descriptor >> 62;
  }

  /// Rows of 128, 64 or 32 bytes are swizzled in units of 16 bytes; without a
  /// swizzle, the n-th units of consecutive rows are adjacent.
  char *find(int row, int k) const {
    constexpr int kPerUnit = 8, kBytes = 2;
    int64_t offset = begin + row / 8 * perRows;
    if (swizzle == 0) {
      offset += row % 8 * 16 + k / kPerUnit * perDepth + k % kPerUnit * kBytes;
    } else {
      offset += row % 8 * (256 >> swizzle) + k * kBytes;
      offset ^= (offset >> 7 & ((16 >> swizzle) - 1)) << 4;
    }
    return getShared() + offset;
  }

  /// Writes of threads without a proxy fence are not visible.
  float read(int row, int k) const {
    char *element = find(row, k);
    checkShared("wgmma", element, 2, 2);
    if (!simt::isFenced(element, 2))
      return NAN;
    return isHalf ? widen(*reinterpret_cast<_Float16 *>(element))
                  : widen(*reinterpret_cast<__bf16 *>(element));
  }

  int64_t begin, perDepth, perRows;
  int swizzle;
  bool isHalf;
};
} // namespace

static void add(const Product &product, int warpInGroup) {
  static float left[kRows][kDepth], right[kMostColumns][kDepth];
  Factor a(product.left, product.isHalf), b(product.right, product.isHalf);
  for (int k = 0; k < kDepth; ++k) {
    for (int row = 0; row < kRows; ++row)
      left[row][k] = a.read(warpInGroup * kRows + row, k);
    for (int column = 0; column < product.columns; ++column)
      right[column][k] = b.read(column, k);
  }
  for (int inWarp = 0; inWarp < kWarpSize; ++inWarp) {
    Accumulator &accumulator = *product.accumulators[inWarp];
    for (int i = 0; i < product.columns / 2; ++i) {
      int row = inWarp / 4 + i / 2 % 2 * 8,
          column = i / 4 * 8 + inWarp % 4 * 2 + i % 2;
      for (int k = 0; k < kDepth; ++k)
        accumulator.sums[i] += left[row][k] * right[column][k];
    }
  }
}

/// Completes a product at its wait.
static void finish(const Product &product, int warpInGroup) {
  if (!product.isAdded)
    add(product, warpInGroup);
  for (Accumulator *accumulator : product.accumulators)
    --accumulator->open;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Returns true if a warp has no product in flight, so that a product may run
/// early.
static bool isIdle(const Warp &warp) {
  return warp.open.empty() && warp.groups.empty();
}

/// Runs the products of the four warps of a warpgroup, whose first thread is
/// `first`.
static void startProducts(int first, int columns, bool isHalf,
                          Slot *const *args, Slot *const *results) {
  int count = columns / 2;
  uint64_t left = args[0][count].as<uint64_t>(),
           right = args[0][count + 1].as<uint64_t>();
  for (int warp = 0; warp < kWarpgroupSize / kWarpSize; ++warp) {
    Product product{columns, isHalf, left, right, {}, false};
    Warp &own = getWarp(first + warp * kWarpSize);
    for (int inWarp = 0; inWarp < kWarpSize; ++inWarp) {
      int index = warp * kWarpSize + inWarp;
      Slot *mine = args[index];
      if (mine[count].as<uint64_t>() != left ||
          mine[count + 1].as<uint64_t>() != right)
        fail("wgmma of other factors than other threads of its warpgroup");
      Accumulator &accumulator = getAccumulator(first + index, mine, count,
                                                mine[count + 2].as<int32_t>());
      ++accumulator.open;
      product.accumulators[inWarp] = &accumulator;
      for (int i = 0; i < count; ++i)
        results[index][i].as<uint32_t>() = makeToken(accumulator, i);
    }
    if (isIdle(own) && happens(50)) {
      add(product, warp);
      product.isAdded = true;
    }
    own.open.push_back(product);
  }
}

static void wgmma(Slot *args, Slot *results, bool isHalf) {
  int columns = args[0].as<int32_t>(), count = columns / 2;
  Slot *flags = args + 1 + count + 3;
  for (int i = 0; i < 4; ++i)
    if (flags[i].as<int32_t>() != (i < 2))
      fail("wgmma of a factor that is transposed or negated");
  int first = getThread() / kWarpgroupSize * kWarpgroupSize;
  meetWarpgroup("wgmma", args + 1, results,
                [=](Slot *const *args, Slot *const *results) {
                  startProducts(first, columns, isHalf, args, results);
                });
}

INSTRUCTION(wgmma_bf16) { wgmma(args, results, /*isHalf=*/false); }
INSTRUCTION(wgmma_f16) { wgmma(args, results, /*isHalf=*/true); }

/// Runs once for a warp, after all of its threads have arrived.
static void doByWarp(const char *name,
                     const std::function<void(Warp &)> &work) {
  int thread = getThread();
  meetWarp(~0u, name, nullptr, nullptr,
           [&](Slot *const *, Slot *const *) { work(getWarp(thread)); });
}

INSTRUCTION(wgmma_fence_sync_aligned) {
  if (!isDropped())
    doByWarp("wgmma.fence", [](Warp &warp) { warp.isFenced = true; });
}
INSTRUCTION(wgmma_commit_group_sync_aligned) {
  if (isDropped())
    return;
  doByWarp("wgmma.commit_group", [](Warp &warp) {
    warp.groups.push_back(std::move(warp.open));
    warp.open.clear();
  });
}
INSTRUCTION(wgmma_wait_group_sync_aligned) {
  if (isDropped())
    return;
  size_t most = args[0].as<int64_t>();
  most += getMutation() == Mutation::WaitForLess;
  int warpInGroup = getThread() / kWarpSize % (kWarpgroupSize / kWarpSize);
  doByWarp("wgmma.wait_group", [=](Warp &warp) {
    while (warp.groups.size() > most) {
      for (Product &product : warp.groups.front())
        finish(product, warpInGroup);
      warp.groups.pop_front();
    }
  });
}

//===----------------------------------------------------------------------===//
// Registers of warpgroups
//===----------------------------------------------------------------------===//

static void setRegisters(Slot *args, const char *name) {
  int32_t count = args[0].as<int32_t>();
  if (count < 24 || count > 256 || count % 8)
    fail("%s to %d registers", name, count);
  meetWarpgroup(name, args, nullptr, [](Slot *const *, Slot *const *) {});
}
INSTRUCTION(setmaxnreg_inc_sync_aligned_u32) {
  setRegisters(args, "setmaxnreg.inc");
}
INSTRUCTION(setmaxnreg_dec_sync_aligned_u32) {
  setRegisters(args, "setmaxnreg.dec");
}
