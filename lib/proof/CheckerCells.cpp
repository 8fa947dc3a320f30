//===- CheckerCells.cpp - Cells of buffers --------------------------------===//

#include "lib/proof/CheckerCells.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

/// Limits on the number of contiguous intervals. If the boxes of a grid consist
/// of more than `kMaxIntervals` intervals, the checker lists the grid box by
/// box. If one box consists of more than `kMaxIntervalsOfBox` intervals, the
/// checker uses all bytes between the first and the last byte of the box. At
/// either limit the proof may reject a correct schedule, and never accepts a
/// wrong one.
static constexpr int64_t kMaxIntervals = int64_t(1) << 26;
static constexpr int64_t kMaxIntervalsOfBox = int64_t(1) << 16;

static bool isEmpty(ArrayRef<Bounds> box) {
  return llvm::any_of(box,
                      [](Bounds range) { return range.first >= range.second; });
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Returns the dimensions with several elements at different offsets, largest
/// stride first.
static SmallVector<unsigned> getDims(const BufferView &view) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < view.shape.size(); ++dim)
    if (view.shape[dim] > 1 && view.strides[dim] != 0)
      dims.push_back(dim);
  llvm::stable_sort(dims, [&](unsigned a, unsigned b) {
    return view.strides[a] > view.strides[b];
  });
  return dims;
}

/// Returns true if different coordinates name different bytes.
static bool isInjective(const BufferView &view, ArrayRef<unsigned> dims) {
  int64_t reach = 1;
  for (unsigned dim : llvm::reverse(dims)) {
    if (view.strides[dim] < reach)
      return false;
    reach = view.strides[dim] * (view.shape[dim] - 1) + reach;
  }
  return true;
}

/// Returns the number of outer dimensions that the partition visits element by
/// element. The cuts of the next dimension give contiguous intervals.
static size_t getSteppedLevels(const BufferView &view, ArrayRef<unsigned> dims,
                               ArrayRef<std::vector<int64_t>> cuts) {
  int64_t contiguous = 1;
  size_t level = dims.size();
  while (level > 0) {
    unsigned dim = dims[level - 1];
    if (view.strides[dim] != contiguous)
      return level;
    contiguous *= view.shape[dim];
    --level;
    bool whole = cuts[level] == std::vector<int64_t>{0, view.shape[dim]};
    if (!whole)
      return level;
  }
  return 0;
}

static int64_t countIntervals(const BufferView &view, ArrayRef<unsigned> dims,
                              ArrayRef<std::vector<int64_t>> cuts) {
  uint64_t count = 1;
  size_t stepped = getSteppedLevels(view, dims, cuts);
  for (size_t level = 0; level < stepped; ++level)
    count = llvm::SaturatingMultiply<uint64_t>(count, view.shape[dims[level]]);
  if (stepped < dims.size())
    count = llvm::SaturatingMultiply<uint64_t>(count, cuts[stepped].size());
  return std::min<uint64_t>(count, std::numeric_limits<int64_t>::max());
}

CellPartition::CellPartition(Accesses accesses) {
  collectLayouts(accesses);
  for (Layout &layout : layouts) {
    cutGrid(layout, accesses);
    if (!isInjective(layout.view, layout.dims) ||
        countIntervals(layout.view, layout.dims, layout.cuts) > kMaxIntervals)
      listBoxes(layout, accesses);
    layout.firstBox = firstCell.size();
    firstCell.resize(firstCell.size() + countBoxes(layout), 0);
  }
  firstCell.push_back(0);

  // Layouts that share no byte are independent.
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, layouts.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return layouts[a].bytes.first < layouts[b].bytes.first;
  });
  for (size_t i = 0; i < order.size();) {
    SmallVector<unsigned> component = {order[i]};
    int64_t end = layouts[order[i]].bytes.second;
    while (++i < order.size() && layouts[order[i]].bytes.first < end) {
      component.push_back(order[i]);
      end = std::max(end, layouts[order[i]].bytes.second);
    }
    findCells(component);
  }

  groupByBox();
}

/// Orders the pairs by their boxes. The cells of a box stay in ascending order,
/// in which they were found.
void CellPartition::groupByBox() {
  for (auto [box, cell] : boxAndCell)
    ++firstCell[box + 1];
  for (size_t box = 1; box < firstCell.size(); ++box)
    firstCell[box] += firstCell[box - 1];
  std::vector<uint32_t> next(firstCell.begin(), firstCell.end() - 1);
  cellsOfBox.resize(boxAndCell.size());
  for (auto [box, cell] : boxAndCell)
    cellsOfBox[next[box]++] = cell;
  boxAndCell = {};
}

void CellPartition::collectLayouts(Accesses accesses) {
  std::map<std::vector<int64_t>, unsigned> known;
  for (auto [index, access] : llvm::enumerate(accesses)) {
    const BufferView &view = access->view;
    std::vector<int64_t> key = {view.byteOffset, view.elementBytes};
    key.insert(key.end(), view.shape.begin(), view.shape.end());
    key.insert(key.end(), view.strides.begin(), view.strides.end());
    auto [entry, isNew] = known.try_emplace(std::move(key), layouts.size());
    if (isNew) {
      Layout &layout = layouts.emplace_back();
      layout.view = view;
      layout.dims = getDims(view);
      layout.bytes = {view.byteOffset, view.getByteEnd()};
    }
    layouts[entry->second].accesses.push_back(index);
    accessBoxes.push_back({entry->second, 0, {}});
  }
}

uint32_t CellPartition::countBoxes(const Layout &layout) const {
  uint32_t count = 1;
  for (const std::vector<int64_t> &cuts : layout.cuts)
    count *= cuts.size() - 1;
  return count;
}

/// Handles a layout in which all elements have the same offset: all vCTAs that
/// access an element access the same bytes. A buffer without elements has such
/// a layout, too, since its strides are zero.
void CellPartition::cutSingleOffset(Layout &layout, Accesses accesses) {
  bool isTouched = false;
  for (unsigned index : layout.accesses) {
    AccessBoxes &boxes = accessBoxes[index];
    boxes.rank = 1;
    forEachRegion(*accesses[index], [&](int64_t, ArrayRef<Bounds> box) {
      isTouched |= !isEmpty(box);
      boxes.ranges.push_back({0u, isEmpty(box) ? 0u : 1u});
    });
  }
  layout.cuts.assign(1, std::vector<int64_t>(isTouched ? 2 : 1));
}

/// Finds the cuts of a layout, and the boxes of every vCTA between the cuts.
void CellPartition::cutGrid(Layout &layout, Accesses accesses) {
  if (layout.dims.empty())
    return cutSingleOffset(layout, accesses);
  layout.cuts.resize(layout.dims.size());
  for (unsigned index : layout.accesses)
    forEachRegion(*accesses[index], [&](int64_t, ArrayRef<Bounds> box) {
      if (isEmpty(box))
        return;
      for (auto [dim, cuts] : llvm::zip(layout.dims, layout.cuts))
        for (int64_t bound : {box[dim].first, box[dim].second})
          if (cuts.empty() || cuts.back() != bound)
            cuts.push_back(bound);
    });
  for (std::vector<int64_t> &cuts : layout.cuts) {
    llvm::sort(cuts);
    cuts.erase(llvm::unique(cuts), cuts.end());
    // No vCTA touches anything: the layout has no boxes.
    if (cuts.empty())
      cuts.push_back(0);
  }
  for (unsigned index : layout.accesses) {
    AccessBoxes &boxes = accessBoxes[index];
    boxes.rank = layout.dims.size();
    forEachRegion(*accesses[index], [&](int64_t, ArrayRef<Bounds> box) {
      bool empty = isEmpty(box);
      for (auto [dim, cuts] : llvm::zip(layout.dims, layout.cuts)) {
        auto find = [&cuts = cuts](int64_t bound) -> uint32_t {
          return llvm::lower_bound(cuts, bound) - cuts.begin();
        };
        boxes.ranges.push_back(empty ? std::make_pair(0u, 0u)
                                     : std::make_pair(find(box[dim].first),
                                                      find(box[dim].second)));
      }
    });
  }
}

/// Returns the bytes of a box, sorted and disjoint. Sets `exact` to false if
/// the result holds more bytes.
static std::vector<Bounds> getIntervals(const BufferView &view,
                                        ArrayRef<Bounds> box, bool &exact) {
  std::vector<Bounds> intervals = {{view.byteOffset, view.byteOffset}};
  intervals.front().second += view.elementBytes;
  SmallVector<unsigned> dims = getDims(view);
  // Innermost first, so that elements join into contiguous intervals early.
  for (unsigned dim : llvm::reverse(dims)) {
    int64_t stride = view.strides[dim] * view.elementBytes;
    auto [begin, end] = box[dim];
    int64_t hull = intervals.back().second - intervals.front().first;
    bool tooMany =
        int64_t(intervals.size()) * (end - begin) > kMaxIntervalsOfBox;
    if (tooMany && (intervals.size() > 1 || stride > hull))
      exact = false;
    if (tooMany || (intervals.size() == 1 && stride <= hull)) {
      intervals = {{intervals.front().first + begin * stride,
                    intervals.back().second + (end - 1) * stride}};
      continue;
    }
    std::vector<Bounds> repeated;
    for (int64_t i = begin; i < end; ++i)
      for (Bounds interval : intervals)
        repeated.push_back(
            {interval.first + i * stride, interval.second + i * stride});
    llvm::sort(repeated);
    intervals.clear();
    for (Bounds interval : repeated)
      if (!intervals.empty() && interval.first <= intervals.back().second)
        intervals.back().second =
            std::max(intervals.back().second, interval.second);
      else
        intervals.push_back(interval);
  }
  return intervals;
}

/// Replaces the grid by the list of boxes that vCTAs touch.
void CellPartition::listBoxes(Layout &layout, Accesses accesses) {
  std::map<std::vector<Bounds>, uint32_t> known;
  for (unsigned index : layout.accesses) {
    AccessBoxes &boxes = accessBoxes[index];
    boxes.rank = 1;
    boxes.ranges.clear();
    forEachRegion(*accesses[index], [&](int64_t, ArrayRef<Bounds> box) {
      if (isEmpty(box)) {
        boxes.ranges.push_back({0, 0});
        return;
      }
      auto [entry, isNew] = known.try_emplace(box.vec(), known.size());
      if (isNew)
        layout.listed.push_back(getIntervals(layout.view, box, exact));
      boxes.ranges.push_back({entry->second, entry->second + 1});
    });
  }
  layout.cuts.assign(1, std::vector<int64_t>(layout.listed.size() + 1));
  layout.dims.clear();
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

void CellPartition::findCells(ArrayRef<unsigned> component) {
  const Layout &layout = layouts[component.front()];
  if (component.size() > 1 || !layout.listed.empty())
    return sweep(component);
  // The boxes of a single layout are the cells.
  for (uint32_t i = 0, e = countBoxes(layout); i < e; ++i) {
    boxAndCell.push_back({layout.firstBox + i, cells.size()});
    Bounds bytes = {layout.view.byteOffset, layout.view.byteOffset};
    uint32_t rest = i;
    for (size_t level = layout.dims.size(); level > 0; --level) {
      const std::vector<int64_t> &cuts = layout.cuts[level - 1];
      uint32_t position = rest % (cuts.size() - 1);
      rest /= cuts.size() - 1;
      int64_t stride = layout.view.strides[layout.dims[level - 1]] *
                       layout.view.elementBytes;
      bytes.first += cuts[position] * stride;
      bytes.second += (cuts[position + 1] - 1) * stride;
    }
    bytes.second += layout.view.elementBytes;
    cells.push_back(bytes);
  }
}

namespace {
/// Visits a grid of boxes in the order of its bytes.
template <typename Visitor>
struct IntervalVisitor {
  const BufferView &view;
  ArrayRef<unsigned> dims;
  ArrayRef<std::vector<int64_t>> cuts;
  size_t stepped;
  Visitor visit;

  void visitLevel(size_t level, int64_t byte, uint32_t box) {
    if (level == dims.size())
      return visit(byte, byte + view.elementBytes, box);
    int64_t stride = view.strides[dims[level]] * view.elementBytes;
    // From level `stepped` on, intervals are contiguous, and deeper levels have
    // one box each.
    for (uint32_t k = 0; k + 1 < cuts[level].size(); ++k) {
      uint32_t inner = box * (cuts[level].size() - 1) + k;
      int64_t begin = cuts[level][k], end = cuts[level][k + 1];
      if (level >= stepped)
        visit(byte + begin * stride, byte + end * stride, inner);
      else
        for (int64_t i = begin; i < end; ++i)
          visitLevel(level + 1, byte + i * stride, inner);
    }
  }
};
} // namespace

void CellPartition::addEvents(const Layout &layout,
                              std::vector<Event> &events) const {
  if (countBoxes(layout) == 0)
    return;
  if (!layout.listed.empty()) {
    for (auto [box, intervals] : llvm::enumerate(layout.listed))
      for (auto [begin, end] : intervals) {
        uint32_t index = layout.firstBox + box;
        events.push_back({begin, index, true});
        events.push_back({end, index, false});
      }
    return;
  }
  auto visit = [&](int64_t begin, int64_t end, uint32_t box) {
    events.push_back({begin, layout.firstBox + box, true});
    events.push_back({end, layout.firstBox + box, false});
  };
  IntervalVisitor<decltype(visit)>{
      layout.view, layout.dims, layout.cuts,
      getSteppedLevels(layout.view, layout.dims, layout.cuts), visit}
      .visitLevel(0, layout.view.byteOffset, 0);
}

namespace {
/// The cells of one sweep by their boxes. The boxes of a cell are consecutive
/// pairs of box and cell, so that cells need no separate lists.
class CellsByBoxes {
public:
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

  CellsByBoxes(Pairs &pairs, uint32_t firstCell)
      : pairs(pairs), firstCell(firstCell) {}

  /// Adds a cell with these boxes, unless there is one. Returns true if there
  /// was none.
  bool insert(ArrayRef<uint32_t> boxes) {
    // A dense map reserves two keys, which half of a hash does not equal.
    uint64_t hash = llvm::hash_combine_range(boxes.begin(), boxes.end()) >> 1;
    auto [last, isNew] = lastOfHash.try_emplace(hash, kNone);
    for (uint32_t cell = last->second; cell != kNone; cell = previous[cell])
      if (hasBoxes(cell, boxes))
        return false;
    uint32_t cell = begins.size();
    previous.push_back(last->second);
    last->second = cell;
    begins.push_back(pairs.size());
    for (uint32_t box : boxes)
      pairs.push_back({box, firstCell + cell});
    return true;
  }

private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  bool hasBoxes(uint32_t cell, ArrayRef<uint32_t> boxes) const {
    size_t end = cell + 1 < begins.size() ? begins[cell + 1] : pairs.size();
    return end - begins[cell] == boxes.size() &&
           std::equal(
               boxes.begin(), boxes.end(), pairs.begin() + begins[cell],
               [](uint32_t box, auto pair) { return box == pair.first; });
  }

  Pairs &pairs;
  uint32_t firstCell;
  llvm::DenseMap<uint64_t, uint32_t> lastOfHash;
  /// For every cell: the previous cell with the same hash, and its first pair.
  std::vector<uint32_t> previous;
  std::vector<size_t> begins;
};
} // namespace

/// Returns the events of all layouts, sorted. The events of one grid are
/// already in order, so that merging them takes less time than sorting all.
std::vector<CellPartition::Event>
CellPartition::collectEvents(ArrayRef<unsigned> component) const {
  auto isBefore = [](const Event &a, const Event &b) {
    return std::tie(a.byte, a.begins) < std::tie(b.byte, b.begins);
  };
  std::vector<Event> events;
  std::vector<size_t> bounds = {0};
  for (unsigned layout : component) {
    addEvents(layouts[layout], events);
    auto first = events.begin() + bounds.back();
    if (!std::is_sorted(first, events.end(), isBefore))
      std::sort(first, events.end(), isBefore);
    bounds.push_back(events.size());
  }
  while (bounds.size() > 2) {
    std::vector<size_t> merged = {0};
    for (size_t i = 2; i < bounds.size(); i += 2) {
      std::inplace_merge(events.begin() + bounds[i - 2],
                         events.begin() + bounds[i - 1],
                         events.begin() + bounds[i], isBefore);
      merged.push_back(bounds[i]);
    }
    if (bounds.size() % 2 == 0)
      merged.push_back(bounds.back());
    bounds = std::move(merged);
  }
  return events;
}

/// Puts bytes that lie in the same boxes of all layouts into one cell.
void CellPartition::sweep(ArrayRef<unsigned> component) {
  std::vector<Event> events = collectEvents(component);
  CellsByBoxes known(boxAndCell, cells.size());
  SmallVector<uint32_t> active;
  for (size_t i = 0; i < events.size();) {
    int64_t byte = events[i].byte;
    for (; i < events.size() && events[i].byte == byte; ++i) {
      auto at = llvm::lower_bound(active, events[i].box);
      if (events[i].begins)
        active.insert(at, events[i].box);
      else
        active.erase(at);
    }
    if (!active.empty() && known.insert(active))
      cells.push_back({byte, events[i].byte});
  }
}
