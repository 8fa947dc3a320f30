//===- warpgroups.cpp - Matrix products of warpgroups ---------------------===//
//
// A product reads its operands at any time until the wait for its group. The
// accumulators are in registers, which LLVM's IR does not name: the instruction
// returns tokens instead, which are NaNs. lower.py calls `simt_resolve` for
// every use of a token other than by another product.

#include "warpgroups.h"

#include "layout.h"
#include "memory.h"
#include "races.h"
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
/// Registers of a thread for a left operand.
constexpr int kLeftWords = 4;
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
  /// The descriptor of the left operand, unless it lies in registers.
  uint64_t left, right;
  std::array<Accumulator *, kWarpSize> accumulators;
  /// True if the product has read its operands before the wait.
  bool isAdded = false;
  bool isLeftTransposed, isRightTransposed;
  bool isLeftInRegisters = false;
  /// The registers of the left operand, by thread.
  std::array<std::array<uint32_t, kLeftWords>, kWarpSize> words = {};
};
using Group = std::vector<Product>;

struct Warp {
  Group open;
  std::deque<Group> groups;
  /// True after a fence, until a wait or a use of an accumulator. New
  /// accumulators and left operands in registers need a fence, since the
  /// threads may have written these registers.
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

/// Returns the accumulator of a token; null if the value is not a token.
static Accumulator *findAccumulator(int thread, uint32_t bits) {
  if (!isToken(bits))
    return nullptr;
  int number = bits >> kSumBits & ((1 << kNumberBits) - 1);
  Accumulator &found = getOwn().threads[thread][number % kAccumulators];
  if (found.number < 0 || found.number % (1 << kNumberBits) != number)
    fail("uses an accumulator of wgmma that is lost");
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
    fail("uses an accumulator before wgmma.wait_group has waited for it");
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
/// The rows of a transposed operand lie across the depth, in panels as wide as
/// the swizzle.
struct Factor {
  Factor(uint64_t descriptor, bool isHalf, bool isTransposed)
      : isHalf(isHalf), isTransposed(isTransposed) {
    begin = (descriptor & 0x3fff) << 4;
    perDepth = (descriptor >> 16 & 0x3fff) << 4;
    perRows = (descriptor >> 32 & 0x3fff) << 4;
    swizzle = descriptor >> 62;
  }

  /// Rows of 128, 64 or 32 bytes are swizzled in units of 16 bytes; without a
  /// swizzle, the n-th units of consecutive rows are adjacent.
  char *find(int row, int k) const {
    constexpr int kPerUnit = 8, kBytes = 2;
    if (isTransposed)
      return findTransposed(row, k);
    int64_t offset = begin + row / 8 * perRows;
    if (swizzle == 0) {
      offset += row % 8 * 16 + k / kPerUnit * perDepth + k % kPerUnit * kBytes;
    } else {
      offset += row % 8 * (256 >> swizzle) + k * kBytes;
      offset ^= (offset >> 7 & ((16 >> swizzle) - 1)) << 4;
    }
    return getShared() + offset;
  }

  char *findTransposed(int row, int k) const {
    constexpr int kBytes = 2;
    if (swizzle == 0)
      fail("wgmma of a transposed operand without a swizzle");
    int rowBytes = 256 >> swizzle, panel = rowBytes / kBytes;
    int64_t offset = begin + row / panel * perDepth + k / 8 * perRows +
                     k % 8 * rowBytes + row % panel * kBytes;
    offset ^= (offset >> 7 & ((16 >> swizzle) - 1)) << 4;
    return getShared() + offset;
  }

  /// Ends the launch if other warps than `warp` have written the elements of
  /// rows without a barrier since: the warps of a warpgroup need not wait for
  /// each other.
  void checkOrdered(int firstRow, int rows, int warp) const {
    constexpr int kUnit = 8, kUnitBytes = 16;
    int rowStep = isTransposed ? kUnit : 1, step = isTransposed ? 1 : kUnit;
    for (int row = firstRow; row < firstRow + rows; row += rowStep)
      for (int k = 0; k < kDepth; k += step)
        checkReadByWarp(find(row, k), kUnitBytes, warp);
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
  bool isHalf, isTransposed;
};
} // namespace

using LeftOperand = float[kRows][kDepth];

/// Word `i` of a thread has two neighbouring elements of a row. The rows of odd
/// words are eight rows further down, and the last two words eight further
/// along.
static void readRegisters(const Product &product, LeftOperand &left) {
  for (int inWarp = 0; inWarp < kWarpSize; ++inWarp)
    for (int i = 0; i < 2 * kLeftWords; ++i) {
      int word = i / 2;
      uint16_t bits = product.words[inWarp][word] >> i % 2 * 16;
      left[inWarp / 4 + word % 2 * 8][inWarp % 4 * 2 + word / 2 * 8 + i % 2] =
          product.isHalf ? widen(__builtin_bit_cast(_Float16, bits))
                         : widen(__builtin_bit_cast(__bf16, bits));
    }
}

static void readShared(const Product &product, int warpInGroup,
                       LeftOperand &left) {
  Factor a(product.left, product.isHalf, product.isLeftTransposed);
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < kDepth; ++k)
      left[row][k] = a.read(warpInGroup * kRows + row, k);
}

static void add(const Product &product, int warpInGroup) {
  static float left[kRows][kDepth], right[kMostColumns][kDepth];
  if (product.isLeftInRegisters)
    readRegisters(product, left);
  else
    readShared(product, warpInGroup, left);
  Factor b(product.right, product.isHalf, product.isRightTransposed);
  for (int k = 0; k < kDepth; ++k)
    for (int column = 0; column < product.columns; ++column)
      right[column][k] = b.read(column, k);
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

/// Ends the launch if nothing orders the operands before a product.
static void checkOperands(const Product &product, int firstWarp,
                          int warpInGroup) {
  int warp = firstWarp + warpInGroup;
  if (!product.isLeftInRegisters)
    Factor(product.left, product.isHalf, product.isLeftTransposed)
        .checkOrdered(warpInGroup * kRows, kRows, warp);
  Factor(product.right, product.isHalf, product.isRightTransposed)
      .checkOrdered(0, product.columns, warp);
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

/// The arguments of a product after the accumulators.
struct Arguments {
  explicit Arguments(Slot *rest, bool hasRegisters) {
    int next = 0;
    if (hasRegisters)
      for (uint32_t &word : words)
        word = rest[next++].as<uint32_t>();
    else
      left = rest[next++].as<uint64_t>();
    right = rest[next++].as<uint64_t>();
    flags = rest + next;
  }

  std::array<uint32_t, kLeftWords> words = {};
  uint64_t left = 0, right;
  /// Unless the left operand lies in registers: one integer each for adding to
  /// the accumulators, the signs of both operands, and their transpositions.
  Slot *flags;
};

/// Runs the products of the four warps of a warpgroup, whose first thread is
/// `first`. `model` has the fields that are equal for all threads.
static void startProducts(int first, Product model, Slot *const *args,
                          Slot *const *results) {
  int count = model.columns / 2;
  for (int warp = 0; warp < kWarpgroupSize / kWarpSize; ++warp) {
    Product product = model;
    Warp &own = getWarp(first + warp * kWarpSize);
    for (int inWarp = 0; inWarp < kWarpSize; ++inWarp) {
      int index = warp * kWarpSize + inWarp;
      Slot *mine = args[index];
      Arguments arguments(mine + count, model.isLeftInRegisters);
      if (arguments.left != model.left || arguments.right != model.right)
        fail("wgmma of other factors than other threads of its warpgroup");
      if (model.isLeftInRegisters && !own.isFenced)
        fail("wgmma of registers that no wgmma.fence has fenced");
      product.words[inWarp] = arguments.words;
      bool adds =
          model.isLeftInRegisters || arguments.flags[0].as<int32_t>() != 0;
      Accumulator &accumulator =
          getAccumulator(first + index, mine, count, adds);
      ++accumulator.open;
      product.accumulators[inWarp] = &accumulator;
      for (int i = 0; i < count; ++i)
        results[index][i].as<uint32_t>() = makeToken(accumulator, i);
    }
    checkOperands(product, first / kWarpSize, warp);
    if (isIdle(own) && happens(50)) {
      add(product, warp);
      product.isAdded = true;
    }
    own.open.push_back(product);
  }
}

static void start(Slot *args, Slot *results, const Product &model) {
  int first = getThread() / kWarpgroupSize * kWarpgroupSize;
  convergeWarpgroup("wgmma", args, results,
                    [=](Slot *const *args, Slot *const *results) {
                      startProducts(first, model, args, results);
                    });
}

/// Both operands lie in shared memory. The columns come before the
/// accumulators.
static void wgmma(Slot *args, Slot *results, bool isHalf) {
  int columns = args[0].as<int32_t>();
  Arguments arguments(args + 1 + columns / 2, /*hasRegisters=*/false);
  for (int i = 1; i <= 2; ++i)
    if (arguments.flags[i].as<int32_t>() != 1)
      fail("wgmma of a factor that is negated");
  start(args + 1, results,
        {.columns = columns,
         .isHalf = isHalf,
         .left = arguments.left,
         .right = arguments.right,
         .accumulators = {},
         .isLeftTransposed = arguments.flags[3].as<int32_t>() != 0,
         .isRightTransposed = arguments.flags[4].as<int32_t>() != 0});
}

/// The left operand lies in registers. The columns and the transposition of the
/// right operand come before the accumulators.
static void wgmmaOfRegisters(Slot *args, Slot *results, bool isHalf) {
  int columns = args[0].as<int32_t>();
  Arguments arguments(args + 2 + columns / 2, /*hasRegisters=*/true);
  start(args + 2, results,
        {.columns = columns,
         .isHalf = isHalf,
         .left = 0,
         .right = arguments.right,
         .accumulators = {},
         .isLeftTransposed = false,
         .isRightTransposed = args[1].as<int32_t>() != 0,
         .isLeftInRegisters = true});
}

INSTRUCTION(wgmma_bf16) { wgmma(args, results, /*isHalf=*/false); }
INSTRUCTION(wgmma_f16) { wgmma(args, results, /*isHalf=*/true); }
INSTRUCTION(wgmma_registers_bf16) {
  wgmmaOfRegisters(args, results, /*isHalf=*/false);
}
INSTRUCTION(wgmma_registers_f16) {
  wgmmaOfRegisters(args, results, /*isHalf=*/true);
}

/// Runs once for a warp, after all of its threads have arrived.
static void doByWarp(const char *name,
                     const std::function<void(Warp &)> &work) {
  int thread = getThread();
  convergeWarp(~0u, name, nullptr, nullptr,
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
    warp.isFenced = false;
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
  convergeWarpgroup(name, args, nullptr, [](Slot *const *, Slot *const *) {});
}
INSTRUCTION(setmaxnreg_inc_sync_aligned_u32) {
  setRegisters(args, "setmaxnreg.inc");
}
INSTRUCTION(setmaxnreg_dec_sync_aligned_u32) {
  setRegisters(args, "setmaxnreg.dec");
}
