//===- Regions.cpp - The boxes and bytes that vCTAs touch -----------------===//

#include "lib/analysis/Regions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

std::pair<unsigned, bool> TupleIndices::insert(ArrayRef<int64_t> tuple) {
  auto found = indices.find(tuple);
  if (found != indices.end())
    return {found->second, false};
  ArrayRef<int64_t> copy = tuple.copy(allocator);
  unsigned index = indices.size();
  indices.try_emplace(copy, index);
  return {index, true};
}

int64_t mlir::ark::evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluateAffine(binary.getLHS(), dims);
  int64_t rhs = evaluateAffine(binary.getRHS(), dims);
  switch (binary.getKind()) {
  // Wraps around: a value that overflows lies outside of every buffer and is
  // clipped.
  case AffineExprKind::Add:
    return static_cast<uint64_t>(lhs) + static_cast<uint64_t>(rhs);
  case AffineExprKind::Mul:
    return static_cast<uint64_t>(lhs) * static_cast<uint64_t>(rhs);
  // In MLIR, division by zero or by a negative number has no value.
  case AffineExprKind::Mod:
    return rhs > 0 ? llvm::mod(lhs, rhs) : 0;
  case AffineExprKind::FloorDiv:
    return rhs > 0 ? llvm::divideFloorSigned(lhs, rhs) : 0;
  case AffineExprKind::CeilDiv:
    return rhs > 0 ? llvm::divideCeilSigned(lhs, rhs) : 0;
  default:
    llvm_unreachable("not a binary affine expression");
  }
}

//===----------------------------------------------------------------------===//
// RegionBoxes
//===----------------------------------------------------------------------===//

/// Advances a row-major grid index.
static void increment(MutableArrayRef<int64_t> index, ArrayRef<int64_t> grid) {
  for (size_t dim = grid.size(); dim-- > 0;) {
    if (++index[dim] < grid[dim])
      return;
    index[dim] = 0;
  }
}

RegionBoxes::RegionBoxes(RegionAttr region, ArrayRef<int64_t> grid,
                         ArrayRef<int64_t> shape)
    : rank(shape.size()) {
  int64_t count = 1;
  for (int64_t extent : grid)
    count *= extent;

  TupleIndices indexOfBox;
  SmallVector<int64_t> index(grid.size(), 0), offsets(rank);
  boxOf.reserve(count);
  for (int64_t vcta = 0; vcta < count; ++vcta, increment(index, grid)) {
    for (unsigned dim = 0; dim < rank; ++dim)
      offsets[dim] = evaluateAffine(region.getOffsets().getResult(dim), index);
    auto [box, isNew] = indexOfBox.insert(offsets);
    boxOf.push_back(box);
    if (!isNew)
      continue;
    for (unsigned dim = 0; dim < rank; ++dim) {
      int64_t begin = std::clamp<int64_t>(offsets[dim], 0, shape[dim]);
      int64_t size = std::min(region.getSizes()[dim], shape[dim] - begin);
      bounds.push_back({begin, begin + size});
    }
  }

  firstVCTA.assign(indexOfBox.size() + 1, 0);
  for (uint32_t box : boxOf)
    ++firstVCTA[box + 1];
  for (size_t box = 1; box < firstVCTA.size(); ++box)
    firstVCTA[box] += firstVCTA[box - 1];
  vctas.resize(count);
  std::vector<uint32_t> next(firstVCTA.begin(), firstVCTA.end() - 1);
  for (int64_t vcta = 0; vcta < count; ++vcta)
    vctas[next[boxOf[vcta]]++] = vcta;
}

bool RegionBoxes::getUnion(SmallVectorImpl<Interval> &box) const {
  TupleIndices distinct;
  for (unsigned index = 0; index < getNumBoxes(); ++index) {
    SmallVector<int64_t> tuple;
    for (auto [begin, end] : getBox(index))
      tuple.append({begin, end});
    distinct.insert(tuple);
  }
  // If the number of boxes equals the number of combinations of one range per
  // dimension, each combination is a box.
  uint64_t combinations = 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    SmallVector<Interval> ranges;
    for (size_t i = dim; i < bounds.size(); i += rank)
      ranges.push_back(bounds[i]);
    llvm::sort(ranges);
    ranges.erase(llvm::unique(ranges), ranges.end());
    combinations =
        llvm::SaturatingMultiply<uint64_t>(combinations, ranges.size());
    mergeRanges(ranges);
    if (ranges.size() != 1)
      return false;
    box.push_back(ranges.front());
  }
  return combinations == distinct.size();
}

//===----------------------------------------------------------------------===//
// Byte intervals
//===----------------------------------------------------------------------===//

namespace {
/// A box as a contiguous interval that repeats along some dimensions.
struct StridedIntervals {
  int64_t begin = 0, bytes = 0;
  /// Count and distance in bytes of every repetition, outermost (largest)
  /// first.
  SmallVector<std::pair<int64_t, int64_t>, 4> repeats;
};
} // namespace

static StridedIntervals decompose(ArrayRef<Interval> box,
                                  const BufferView &view) {
  StridedIntervals strided;
  strided.bytes = view.elementBytes;
  for (auto [range, stride] : llvm::zip(box, view.strides)) {
    int64_t bytes = stride * view.elementBytes;
    strided.begin += range.first * bytes;
    if (range.first == range.second)
      strided.bytes = 0;
    if (range.second - range.first > 1 && bytes != 0)
      strided.repeats.push_back({range.second - range.first, bytes});
  }
  if (strided.bytes == 0)
    strided.repeats.clear();
  llvm::sort(strided.repeats,
             [](auto a, auto b) { return a.second > b.second; });
  // Innermost first: repetitions without a gap join into one interval.
  while (!strided.repeats.empty() &&
         strided.repeats.back().second <= strided.bytes) {
    auto [count, distance] = strided.repeats.pop_back_val();
    strided.bytes += (count - 1) * distance;
  }
  return strided;
}

int64_t mlir::ark::countByteIntervals(ArrayRef<Interval> box,
                                      const BufferView &view) {
  int64_t count = 1;
  for (auto [repeat, distance] : decompose(box, view).repeats)
    count *= repeat;
  return count;
}

Interval mlir::ark::getByteHull(ArrayRef<Interval> box,
                                const BufferView &view) {
  StridedIntervals strided = decompose(box, view);
  int64_t end = strided.begin + strided.bytes;
  for (auto [repeat, distance] : strided.repeats)
    end += (repeat - 1) * distance;
  return {strided.begin, end};
}

void mlir::ark::appendByteIntervals(ArrayRef<Interval> box,
                                    const BufferView &view,
                                    SmallVectorImpl<Interval> &intervals) {
  StridedIntervals strided = decompose(box, view);
  if (strided.bytes == 0)
    return;
  SmallVector<int64_t, 4> index(strided.repeats.size(), 0);
  while (true) {
    int64_t begin = strided.begin;
    for (auto [repeat, position] : llvm::zip(strided.repeats, index))
      begin += repeat.second * position;
    intervals.push_back({begin, begin + strided.bytes});
    size_t dim = index.size();
    while (dim > 0 && ++index[dim - 1] == strided.repeats[dim - 1].first)
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

void mlir::ark::mergeRanges(SmallVectorImpl<Interval> &ranges) {
  if (!llvm::is_sorted(ranges))
    llvm::sort(ranges);
  size_t last = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[last].second)
      ranges[last].second = std::max(ranges[last].second, ranges[i].second);
    else
      ranges[++last] = ranges[i];
  }
  if (!ranges.empty())
    ranges.truncate(last + 1);
}

bool mlir::ark::isDisjoint(RegionAttr region, ArrayRef<int64_t> grid) {
  for (auto [index, extent] : llvm::enumerate(grid)) {
    AffineExpr dim = getAffineDimExpr(index, region.getContext());
    if (extent != 1 && llvm::none_of(llvm::zip(region.getOffsets().getResults(),
                                               region.getSizes()),
                                     [&](auto pair) {
                                       auto [offset, size] = pair;
                                       return offset == dim * size;
                                     }))
      return false;
  }
  return true;
}
