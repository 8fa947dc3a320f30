//===- Liveness.cpp - Lifetimes of intermediates --------------------------===//

#include "lib/analysis/Liveness.h"

#include "dialects/ark/ArkDomains.h"
#include "dialects/ark/ArkRegions.h"
#include "lib/analysis/Packets.h"
#include "lib/support/BufferView.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Bytes of a buffer that some vCTA of a task may touch.
struct Access {
  unsigned task;
  int64_t begin, end;
  bool isWrite;
};
} // namespace

static bool conflict(const Access &a, const Access &b) {
  return (a.isWrite || b.isWrite) && a.begin < b.end && b.begin < a.end;
}

/// Returns the bytes between the first and the last element that any vCTA
/// touches.
static Access getAccess(unsigned taskIndex, TaskOp task, unsigned operand,
                        const BufferView &view) {
  RegionAttr region = task.getRegion(operand);
  int64_t begin = view.byteOffset, end = view.byteOffset;
  bool isEmpty = false;
  for (auto [dim, offset] : llvm::enumerate(region.getOffsets().getResults())) {
    int64_t extent = view.shape[dim];
    int64_t lowest = 0, highest = extent;
    if (std::optional<IndexRange> range =
            getRangeOverGrid(offset, task.getGrid())) {
      lowest = range->lowest;
      highest = std::min(extent, range->highest + region.getSizes()[dim]);
    }
    isEmpty |= highest <= lowest;
    begin += lowest * view.strides[dim] * view.elementBytes;
    end += (highest - 1) * view.strides[dim] * view.elementBytes;
  }
  end = isEmpty ? begin : end + view.elementBytes;
  return {taskIndex, begin, end, operand >= task.getInputs().size()};
}

FailureOr<Liveness> Liveness::compute(ProgramOp program) {
  Liveness liveness;
  auto &tasks = liveness.tasks;
  llvm::append_range(tasks, program.getBody().getOps<TaskOp>());

  llvm::MapVector<Value, SmallVector<Access>> accesses;
  // An intermediate without a user needs no bytes, but needs an offset.
  for (Operation &op : program.getBody().front())
    if (isa<memref::AllocOp>(op))
      accesses[op.getResult(0)] = {};
    else if (auto view = dyn_cast<memref::ViewOp>(op))
      if (view.getSource().getDefiningOp<ArenaOp>())
        accesses[view] = {};
  for (auto [index, task] : llvm::enumerate(tasks))
    for (auto [position, operand] : llvm::enumerate(task.getOperands())) {
      FailureOr<BufferView> view = resolveBufferView(operand);
      if (failed(view))
        return failure();
      // Packets lie in the buffer of `ark.packets`. The receipt of a packet
      // orders no other write of its sender, so packets add no dependence.
      if (isPackets(view->root))
        continue;
      Access access = getAccess(index, task, position, *view);
      accesses[view->buffer].push_back(access);
    }

  liveness.predecessors.assign(tasks.size(), llvm::BitVector(tasks.size()));
  auto &direct = liveness.direct;
  direct.resize(tasks.size());
  for (auto &[buffer, list] : accesses) {
    // Buffers without a writer, such as most arguments, add no dependence.
    if (llvm::none_of(list, [](const Access &a) { return a.isWrite; }))
      continue;
    for (size_t later = 0; later < list.size(); ++later)
      for (size_t earlier = 0; earlier < later; ++earlier)
        if (list[earlier].task != list[later].task &&
            conflict(list[earlier], list[later]))
          direct[list[later].task].push_back(list[earlier].task);
  }
  for (size_t task = 0; task < tasks.size(); ++task)
    for (unsigned predecessor : direct[task])
      if (!liveness.precedes(predecessor, task)) {
        liveness.predecessors[task] |= liveness.predecessors[predecessor];
        liveness.predecessors[task].set(predecessor);
      }

  for (auto &[buffer, list] : accesses) {
    if (isa<BlockArgument>(buffer))
      continue;
    Intermediate intermediate{
        buffer,
        getBufferBytes(cast<MemRefType>(buffer.getType())),
        {},
        !list.empty()};
    llvm::BitVector common(tasks.size(), true);
    for (const Access &access : list) {
      auto &touching = intermediate.tasks;
      if (touching.empty() || touching.back() != access.task)
        touching.push_back(access.task);
      if (access.task == touching.front() && !access.isWrite)
        intermediate.writtenFirst = false;
      TaskOp task = tasks[access.task];
      intermediate.isExclusive |= (access.isWrite && putsPackets(task)) ||
                                  getNetworkPeer(task).has_value();
      common &= liveness.predecessors[access.task];
    }
    liveness.intermediates.push_back(std::move(intermediate));
    liveness.precedesAll.push_back(std::move(common));
  }
  return liveness;
}

bool Liveness::mayShare(unsigned first, unsigned second) const {
  if (intermediates[first].isExclusive || intermediates[second].isExclusive)
    return false;
  auto isBefore = [&](unsigned earlier, unsigned later) {
    return llvm::all_of(intermediates[earlier].tasks, [&](unsigned task) {
      return precedesAll[later].test(task);
    });
  };
  return isBefore(first, second) || isBefore(second, first);
}

bool Liveness::isApart(unsigned first, unsigned second) const {
  const Intermediate &a = intermediates[first], &b = intermediates[second];
  if (a.isExclusive || b.isExclusive)
    return false;
  return a.tasks.empty() || b.tasks.empty() ||
         a.tasks.back() < b.tasks.front() || b.tasks.back() < a.tasks.front();
}

std::pair<unsigned, int64_t> Liveness::findPeak() const {
  // Bytes that come into use before a task, and that go out of use after it.
  SmallVector<int64_t> begins(tasks.size() + 1), ends(tasks.size() + 1);
  for (const Intermediate &intermediate : intermediates) {
    if (intermediate.tasks.empty())
      continue;
    begins[intermediate.tasks.front()] += intermediate.bytes;
    ends[intermediate.tasks.back()] += intermediate.bytes;
  }
  int64_t live = 0;
  std::pair<unsigned, int64_t> peak = {0, 0};
  for (unsigned task = 0; task < tasks.size(); ++task) {
    live += begins[task];
    if (live > peak.second)
      peak = {task, live};
    live -= ends[task];
  }
  return peak;
}
