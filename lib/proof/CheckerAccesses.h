//===- CheckerAccesses.h - Accesses of the vCTAs of a program ---*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERACCESSES_H
#define ARK_LIB_PROOF_CHECKERACCESSES_H

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::ark::checker {

/// A half-open range `[first, second)` of elements or of bytes.
using Bounds = std::pair<int64_t, int64_t>;

/// The accesses of all vCTAs of a task through one operand.
struct OperandAccess {
  unsigned task, operand;
  bool isWrite;
  RegionAttr region;
  ArrayRef<int64_t> grid;
  BufferView view;
};

/// Returns true if two operands share bytes. Assumes that an operand contains
/// all bytes between its first and its last byte.
bool shareBytes(const OperandAccess &a, const OperandAccess &b);

/// All accesses to one buffer, by ascending task; inputs come before outs.
struct BufferAccesses {
  Value root;
  std::vector<const OperandAccess *> accesses;
  bool isWritten = false;
};

/// Divides the accesses of a buffer into groups that share no byte.
std::vector<BufferAccesses> divideByBytes(const BufferAccesses &buffer);

/// The tasks of a program on buffers, and all accesses of their vCTAs. The
/// vCTAs of all tasks are numbered in program order.
class ProgramAccesses {
public:
  explicit ProgramAccesses(ProgramOp program) : program(program) {}
  ProgramAccesses(const ProgramAccesses &) = delete;

  /// Collects all accesses. Fails with an error if an operand cannot be
  /// resolved to bytes, lies outside of its buffer or is not aligned to its
  /// elements, or if the region of a vCTA leaves its operand.
  LogicalResult collect();

  ArrayRef<TaskOp> getTasks() const { return tasks; }
  uint32_t getNumVCTAs() const { return firstVCTA.back(); }
  /// Returns the index of a task's first vCTA among the vCTAs of all tasks.
  uint32_t getFirstVCTA(unsigned task) const { return firstVCTA[task]; }
  /// Returns the task of a vCTA.
  unsigned getTaskOf(uint32_t vcta) const;
  /// Returns the buffers in the order of their first access.
  auto getBuffers() const {
    return llvm::make_second_range(
        llvm::make_range(buffers.begin(), buffers.end()));
  }

private:
  ProgramOp program;
  SmallVector<TaskOp> tasks;
  /// The first vCTA of every task, then the number of all vCTAs.
  std::vector<uint32_t> firstVCTA = {0};
  std::vector<OperandAccess> accesses;
  llvm::MapVector<Value, BufferAccesses> buffers;
};

/// Evaluates an affine expression without symbols. The value must not overflow;
/// `ProgramAccesses::collect` has shown that for all regions.
int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims);

/// Calls `visit(vcta, box)` with the region of every vCTA, clipped to the
/// operand. `vcta` counts within the task.
template <typename Visitor>
void forEachRegion(const OperandAccess &access, Visitor visit) {
  SmallVector<int64_t> index(access.grid.size(), 0);
  SmallVector<Bounds> box(access.view.shape.size());
  int64_t count = 1;
  for (int64_t extent : access.grid)
    count *= extent;
  for (int64_t vcta = 0; vcta < count; ++vcta) {
    for (size_t dim = 0; dim < box.size(); ++dim) {
      int64_t extent = access.view.shape[dim];
      int64_t begin =
          evaluate(access.region.getOffsets().getResult(dim), index);
      box[dim] = {begin, begin + std::min(extent - begin,
                                          access.region.getSizes()[dim])};
    }
    visit(vcta, ArrayRef<Bounds>(box));
    for (size_t dim = index.size(); dim > 0; --dim) {
      if (++index[dim - 1] < access.grid[dim - 1])
        break;
      index[dim - 1] = 0;
    }
  }
}

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERACCESSES_H
