//===- CheckerCells.h - Cells of buffers ------------------------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERCELLS_H
#define ARK_LIB_PROOF_CHECKERCELLS_H

#include "lib/proof/CheckerAccesses.h"

namespace mlir::ark::checker {

/// Splits the bytes of one buffer into cells, so that every vCTA accesses a
/// cell as a whole or not at all. So two vCTAs have a hazard on bytes if and
/// only if they have a hazard on cells.
///
/// The bounds of regions cut the dimensions of a layout, which gives a grid of
/// boxes. If layouts overlap, as with reuse of the arena, a sweep over the
/// bytes separates bytes that lie in different boxes.
class CellPartition {
public:
  /// Requires accesses with one root.
  explicit CellPartition(ArrayRef<const OperandAccess *> accesses);

  /// A range of boxes in every dimension of a layout.
  using Boxes = ArrayRef<std::pair<uint32_t, uint32_t>>;

  unsigned getNumCells() const { return cells.size(); }
  /// Returns false if regions were too scattered. Some cells are then too
  /// large, and show hazards that do not exist.
  bool isExact() const { return exact; }
  /// Returns the boxes of a vCTA, for comparison with other vCTAs of the
  /// access.
  Boxes getBoxes(unsigned access, int64_t vcta) const {
    const AccessBoxes &boxes = accessBoxes[access];
    return Boxes(boxes.ranges).slice(vcta * boxes.rank, boxes.rank);
  }
  /// Calls `visit(cell)` for every cell that a vCTA touches. `access` is an
  /// index into the list given to the constructor.
  template <typename Visitor>
  void forEachCell(unsigned access, int64_t vcta, Visitor visit) const;
  /// Returns some bytes of a cell, counted from the root's first byte.
  Bounds getBytes(unsigned cell) const { return cells[cell]; }

private:
  /// Accesses whose coordinates name the same bytes.
  struct Layout {
    BufferView view;
    /// Dimensions with more than one element, the largest stride first.
    SmallVector<unsigned> dims;
    /// For every dimension in `dims`, the bounds of all regions.
    SmallVector<std::vector<int64_t>> cuts;
    SmallVector<unsigned> accesses;
    /// Index of the first box. Boxes are numbered in row-major order of `dims`.
    uint32_t firstBox = 0;
    /// The bytes of every box that a vCTA accesses, if elements overlap or are
    /// scattered. The list of bytes replaces the grid and counts as one
    /// dimension.
    std::vector<std::vector<Bounds>> listed;
    /// The range from the first to the last byte.
    Bounds bytes;
  };
  /// The boxes of the vCTAs of one access: a range in every dimension of the
  /// layout.
  struct AccessBoxes {
    unsigned layout;
    unsigned rank;
    std::vector<std::pair<uint32_t, uint32_t>> ranges;
  };
  /// The start or the end of a box at a byte.
  struct Event {
    int64_t byte;
    uint32_t box;
    bool begins;
  };

  using Accesses = ArrayRef<const OperandAccess *>;
  void collectLayouts(Accesses accesses);
  void cutSingleOffset(Layout &layout, Accesses accesses);
  void cutGrid(Layout &layout, Accesses accesses);
  void listBoxes(Layout &layout, Accesses accesses);
  uint32_t countBoxes(const Layout &layout) const;
  void findCells(ArrayRef<unsigned> component);
  void sweep(ArrayRef<unsigned> component);
  std::vector<Event> collectEvents(ArrayRef<unsigned> component) const;
  void groupByBox();
  void addEvents(const Layout &layout, std::vector<Event> &events) const;

  std::vector<Layout> layouts;
  std::vector<AccessBoxes> accessBoxes;
  /// Cells of every box: `cellsOfBox[firstCell[box] .. firstCell[box + 1])`.
  std::vector<uint32_t> firstCell, cellsOfBox;
  /// The pairs of box and cell from which `cellsOfBox` is made.
  std::vector<std::pair<uint32_t, uint32_t>> boxAndCell;
  std::vector<Bounds> cells;
  bool exact = true;
};

template <typename Visitor>
void CellPartition::forEachCell(unsigned access, int64_t vcta,
                                Visitor visit) const {
  const AccessBoxes &boxes = accessBoxes[access];
  const Layout &layout = layouts[boxes.layout];
  const auto *ranges = boxes.ranges.data() + vcta * boxes.rank;
  SmallVector<uint32_t, 4> index(boxes.rank);
  for (unsigned dim = 0; dim < boxes.rank; ++dim) {
    if (ranges[dim].first == ranges[dim].second)
      return;
    index[dim] = ranges[dim].first;
  }
  while (true) {
    uint32_t box = 0;
    for (unsigned dim = 0; dim < boxes.rank; ++dim)
      box = box * (layout.cuts[dim].size() - 1) + index[dim];
    box += layout.firstBox;
    for (uint32_t i = firstCell[box]; i < firstCell[box + 1]; ++i)
      visit(cellsOfBox[i]);
    unsigned dim = boxes.rank;
    while (dim > 0 && ++index[dim - 1] == ranges[dim - 1].second) {
      --dim;
      index[dim] = ranges[dim].first;
    }
    if (dim == 0)
      return;
  }
}

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERCELLS_H
