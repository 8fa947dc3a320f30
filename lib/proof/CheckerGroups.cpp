//===- CheckerGroups.cpp - Accesses to compare vCTA by vCTA ---------------===//

#include "lib/proof/CheckerGroups.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

static bool includesBytes(const OperandAccess &outer,
                          const OperandAccess &inner) {
  return outer.view.byteOffset <= inner.view.byteOffset &&
         inner.view.getByteEnd() <= outer.view.getByteEnd();
}

//===----------------------------------------------------------------------===//
// Whole writes
//===----------------------------------------------------------------------===//

/// Returns true if a write keeps the elements that it does not overwrite.
static bool isUpdate(TaskOp task, const OperandAccess &access) {
  return access.isWrite &&
         task.isUpdated(access.operand - task.getInputs().size());
}

/// Returns true if the elements of an operand are all bytes between its first
/// and its last.
static bool isDense(const BufferView &view) {
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, view.shape.size()));
  llvm::sort(dims, [&](unsigned a, unsigned b) {
    return view.strides[a] < view.strides[b];
  });
  int64_t reach = 1;
  for (unsigned dim : dims) {
    if (view.shape[dim] == 1)
      continue;
    if (view.strides[dim] != reach)
      return false;
    reach *= view.shape[dim];
  }
  return true;
}

/// Returns the sorted bounds of the regions of an access in every dimension.
static SmallVector<std::vector<int64_t>> getCuts(const OperandAccess &access) {
  SmallVector<std::vector<int64_t>> cuts(access.view.shape.size());
  forEachRegion(access, [&](int64_t, ArrayRef<Bounds> box) {
    for (auto [range, ofDim] : llvm::zip(box, cuts))
      for (int64_t bound : {range.first, range.second})
        if (ofDim.empty() || ofDim.back() != bound)
          ofDim.push_back(bound);
  });
  for (std::vector<int64_t> &ofDim : cuts) {
    llvm::sort(ofDim);
    ofDim.erase(llvm::unique(ofDim), ofDim.end());
  }
  return cuts;
}

/// Marks the boxes between `cuts` that lie in a region.
static void markBoxes(ArrayRef<std::vector<int64_t>> cuts,
                      ArrayRef<Bounds> region, size_t dim, size_t box,
                      llvm::BitVector &marked) {
  if (dim == cuts.size()) {
    marked.set(box);
    return;
  }
  auto find = [&](int64_t bound) -> size_t {
    return llvm::lower_bound(cuts[dim], bound) - cuts[dim].begin();
  };
  for (size_t i = find(region[dim].first), e = find(region[dim].second); i < e;
       ++i)
    markBoxes(cuts, region, dim + 1, box * (cuts[dim].size() - 1) + i, marked);
}

/// Returns true if the vCTAs of an access together write every byte between the
/// first and the last byte of the operand. May return false if they do so with
/// regions that divide the operand into many boxes.
static bool writesWholeOperand(TaskOp task, const OperandAccess &access) {
  if (!access.isWrite || isUpdate(task, access) || !isDense(access.view))
    return false;
  SmallVector<std::vector<int64_t>> cuts = getCuts(access);
  size_t limit = 4 * size_t(task.getNumVCTAs()), numBoxes = 1;
  for (auto [ofDim, extent] : llvm::zip(cuts, access.view.shape)) {
    if (ofDim.size() < 2 || ofDim.front() != 0 || ofDim.back() != extent)
      return false;
    numBoxes *= ofDim.size() - 1;
    if (numBoxes > limit)
      return false;
  }
  llvm::BitVector marked(numBoxes);
  forEachRegion(access, [&](int64_t, ArrayRef<Bounds> box) {
    markBoxes(cuts, box, 0, 0, marked);
  });
  return marked.all();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
class Divider {
public:
  Divider(const BufferAccesses &buffer, const TaskOrder &order,
          ArrayRef<TaskOp> tasks)
      : buffer(buffer), order(order), tasks(tasks),
        classes(buffer.accesses.size()),
        isWrittenBefore(buffer.accesses.size(), false),
        writesWhole(buffer.accesses.size()) {}

  void joinUnorderedTasks();
  void joinReadsWithWrites();
  std::vector<AccessGroup> getGroups(bool mustBeWritten);

private:
  /// The number of accesses between two entries of `ends`, which let a search
  /// skip ordered accesses.
  static constexpr size_t kStep = 32;

  const OperandAccess &get(size_t index) const {
    return *buffer.accesses[index];
  }
  TaskOp getTask(size_t index) const { return tasks[get(index).task]; }
  bool needsValues(size_t index) const;
  bool isWhole(size_t index);
  bool findWholeWrite(size_t read);

  const BufferAccesses &buffer;
  const TaskOrder &order;
  ArrayRef<TaskOp> tasks;
  llvm::IntEqClasses classes;
  std::vector<bool> isWrittenBefore;
  /// For every access, true if it writes its whole operand. Empty before the
  /// first query.
  std::vector<std::optional<bool>> writesWhole;
};
} // namespace

/// Joins accesses that share bytes into one group if one of them is a write and
/// their tasks are not ordered.
void Divider::joinUnorderedTasks() {
  // Element `i` has the items of the tasks of the first `i * kStep` accesses.
  std::vector<LanePrefixes> ends;
  LanePrefixes all = order.getNoItems();
  LanePrefixes happened;
  for (size_t after = 0; after < buffer.accesses.size(); ++after) {
    if (after == 0 || get(after).task != get(after - 1).task)
      happened = order.getHappenedBefore(get(after).task);
    for (size_t before = after; before-- > 0;) {
      // If these items have happened, all earlier accesses are ordered, too.
      if (before % kStep == kStep - 1 &&
          llvm::all_of(
              llvm::zip(ends[before / kStep], happened),
              [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); }))
        break;
      if ((get(before).isWrite || get(after).isWrite) &&
          shareBytes(get(before), get(after)) &&
          !order.includesTask(happened, get(before).task))
        classes.join(before, after);
    }
    order.addTask(all, get(after).task);
    if (after % kStep == kStep - 1)
      ends.push_back(all);
  }
}

/// Returns true if an access needs values of the operand: it reads them, or
/// keeps those that it does not overwrite.
bool Divider::needsValues(size_t index) const {
  return !get(index).isWrite || isUpdate(getTask(index), get(index));
}

bool Divider::isWhole(size_t index) {
  if (!writesWhole[index])
    writesWhole[index] = writesWholeOperand(getTask(index), get(index));
  return *writesWhole[index];
}

/// Returns true if one task writes all bytes of an operand before another task
/// reads the operand.
bool Divider::findWholeWrite(size_t read) {
  for (size_t before = read; before-- > 0;)
    if (get(before).isWrite && get(before).task < get(read).task &&
        includesBytes(get(before), get(read)) && isWhole(before))
      return true;
  return false;
}

void Divider::joinReadsWithWrites() {
  for (size_t read = 0; read < buffer.accesses.size(); ++read) {
    if (!needsValues(read))
      continue;
    isWrittenBefore[read] = findWholeWrite(read);
    if (isWrittenBefore[read])
      continue;
    for (size_t before = 0; before < read; ++before)
      if (get(before).isWrite && shareBytes(get(before), get(read)))
        classes.join(before, read);
  }
}

std::vector<AccessGroup> Divider::getGroups(bool mustBeWritten) {
  classes.compress();
  std::vector<AccessGroup> groups(classes.getNumClasses());
  for (size_t index = 0; index < buffer.accesses.size(); ++index) {
    AccessGroup &group = groups[classes[index]];
    group.buffer.root = buffer.root;
    group.buffer.isWritten |= get(index).isWrite;
    group.buffer.accesses.push_back(buffer.accesses[index]);
    group.isWrittenBefore.push_back(!mustBeWritten || !needsValues(index) ||
                                    isWrittenBefore[index]);
  }
  llvm::erase_if(groups, [](const AccessGroup &group) {
    return !group.buffer.isWritten &&
           !llvm::is_contained(group.isWrittenBefore, false);
  });
  return groups;
}

std::vector<AccessGroup> checker::divideByTasks(const BufferAccesses &buffer,
                                                const TaskOrder &order,
                                                ArrayRef<TaskOp> tasks,
                                                bool mustBeWritten) {
  Divider divider(buffer, order, tasks);
  divider.joinUnorderedTasks();
  if (mustBeWritten)
    divider.joinReadsWithWrites();
  return divider.getGroups(mustBeWritten);
}
