//===- Dependences.cpp - Dependences between vCTAs ------------------------===//

#include "lib/analysis/Dependences.h"
#include "lib/analysis/Relations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;

/// Maximum number of byte intervals of a footprint. The hull replaces a larger
/// footprint: it may add candidates for a dependence, and loses none. The
/// relation of each candidate is then computed exactly.
static constexpr size_t kMaxFootprintIntervals = 256;

StringRef mlir::ark::stringifyHazard(Hazard hazard) {
  switch (hazard) {
  case Hazard::RAW:
    return "RAW";
  case Hazard::WAR:
    return "WAR";
  case Hazard::WAW:
    return "WAW";
  }
  llvm_unreachable("unknown hazard");
}

//===----------------------------------------------------------------------===//
// Last accesses to a byte
//===----------------------------------------------------------------------===//

namespace {
/// Keeps, for every byte, the accesses on which later accesses depend: the last
/// writes (several if each covers a part), and the reads after these writes.
class ByteHistory {
public:
  /// The accesses to the bytes of one interval, and its end.
  struct IntervalAccesses {
    int64_t end;
    SmallVector<unsigned, 2> writes, reads;
  };

  /// Calls `visit` for the intervals that make up `bytes`.
  void forEachInterval(Interval bytes,
                       llvm::function_ref<void(IntervalAccesses &)> visit) {
    split(bytes.first);
    split(bytes.second);
    int64_t position = bytes.first;
    auto next = intervals.lower_bound(position);
    while (position < bytes.second) {
      if (next == intervals.end() || next->first > position) {
        int64_t end = next == intervals.end()
                          ? bytes.second
                          : std::min(bytes.second, next->first);
        next = intervals.try_emplace(next, position,
                                     IntervalAccesses{end, {}, {}});
      }
      visit(next->second);
      position = next->second.end;
      ++next;
    }
  }

private:
  /// Splits the interval around a position, so that an interval begins there.
  void split(int64_t position) {
    auto after = intervals.lower_bound(position);
    if (after == intervals.begin())
      return;
    auto before = std::prev(after);
    if (before->second.end <= position)
      return;
    IntervalAccesses second = before->second;
    before->second.end = position;
    intervals.try_emplace(after, position, std::move(second));
  }

  std::map<int64_t, IntervalAccesses> intervals;
};
} // namespace

//===----------------------------------------------------------------------===//
// DependenceBuilder
//===----------------------------------------------------------------------===//

namespace mlir::ark {
class DependenceBuilder {
public:
  LogicalResult run(ProgramOp program) {
    llvm::append_range(result.tasks, program.getBody().getOps<TaskOp>());
    for (unsigned task = 0; task < result.tasks.size(); ++task)
      if (failed(addAccesses(task)))
        return failure();
    for (unsigned task = 0; task < result.tasks.size(); ++task) {
      result.firstIncoming.push_back(result.dependences.size());
      findWithin(task);
      findBefore(task);
    }
    result.firstIncoming.push_back(result.dependences.size());
    return success();
  }

  Dependences result;

private:
  LogicalResult addAccesses(unsigned position);
  void findWithin(unsigned task);
  void findBefore(unsigned task);
  void add(unsigned producer, unsigned consumer, Hazard hazard,
           std::shared_ptr<const Relation> relation);
  SmallVector<Interval> getBytes(const Access &access, bool &exact);

  ArrayRef<Access> getAccesses(unsigned task) const {
    return ArrayRef<Access>(accesses).slice(
        firstAccess[task], firstAccess[task + 1] - firstAccess[task]);
  }

  std::vector<Access> accesses;
  /// The accesses of task t are `[firstAccess[t], firstAccess[t + 1])`, reads
  /// first.
  SmallVector<unsigned> firstAccess = {0};
  llvm::DenseMap<Value, ByteHistory> histories;
  RelationCache cache;
};
} // namespace mlir::ark

LogicalResult DependenceBuilder::addAccesses(unsigned position) {
  TaskOp task = result.tasks[position];
  for (auto [index, operand] : llvm::enumerate(task.getOperands())) {
    FailureOr<BufferView> view = resolveBufferView(operand);
    if (failed(view))
      return failure();
    accesses.push_back({position, static_cast<unsigned>(index),
                        index >= task.getInputs().size(), task.getRegion(index),
                        task.getGrid(), std::move(*view)});
  }
  firstAccess.push_back(accesses.size());
  return success();
}

void DependenceBuilder::add(unsigned producer, unsigned consumer, Hazard hazard,
                            std::shared_ptr<const Relation> relation) {
  if (relation->isEmpty())
    return;
  const Access &from = accesses[producer], &to = accesses[consumer];
  if (!relation->exact)
    result.tasks[to.task].emitRemark("dependence of operand ")
        << to.operand << " on operand " << from.operand << " of '"
        << result.tasks[from.task].getName()
        << "' is not exact: the regions have too many intervals";
  result.dependences.push_back({from.task, to.task, from.operand, to.operand,
                                hazard, isPackets(from.view.root),
                                std::move(relation)});
}

/// Finds dependences between vCTAs of one task. Such dependences are rare:
/// regions of a task that updates in place may overlap.
void DependenceBuilder::findWithin(unsigned task) {
  auto share = [](const Access &a, const Access &b) {
    return a.view.root == b.view.root &&
           a.view.byteOffset < b.view.getByteEnd() &&
           b.view.byteOffset < a.view.getByteEnd();
  };
  unsigned begin = firstAccess[task], end = firstAccess[task + 1];
  for (unsigned first = begin; first < end; ++first)
    for (unsigned second = begin; second < end; ++second) {
      const Access &a = accesses[first], &b = accesses[second];
      if ((!a.isWrite && !b.isWrite) || !share(a, b))
        continue;
      Hazard hazard = !a.isWrite   ? Hazard::WAR
                      : !b.isWrite ? Hazard::RAW
                                   : Hazard::WAW;
      add(first, second, hazard, cache.getOverlapWithin(a, b));
    }
}

/// Returns the bytes of an access in its root. Sets `exact` to false if the
/// result may hold more bytes.
SmallVector<Interval> DependenceBuilder::getBytes(const Access &access,
                                                  bool &exact) {
  const Footprint &footprint = cache.getFootprint(access);
  exact = footprint.exact && footprint.bytes.size() <= kMaxFootprintIntervals;
  SmallVector<Interval> bytes(footprint.bytes);
  if (!exact && !bytes.empty())
    bytes = {{bytes.front().first, bytes.back().second}};
  for (Interval &range : bytes) {
    range.first += access.view.byteOffset;
    range.second += access.view.byteOffset;
  }
  return bytes;
}

/// Finds dependences of a task on earlier tasks.
void DependenceBuilder::findBefore(unsigned task) {
  // Keeps the order of insertion: the output must not depend on addresses.
  llvm::SetVector<std::tuple<unsigned, unsigned, Hazard>> found;
  auto record = [&](ArrayRef<unsigned> producers, unsigned consumer,
                    Hazard hazard) {
    for (unsigned producer : producers)
      if (accesses[producer].task != task)
        found.insert({producer, consumer, hazard});
  };
  bool exact;
  for (unsigned i = firstAccess[task]; i < firstAccess[task + 1]; ++i) {
    if (accesses[i].isWrite)
      continue;
    ByteHistory &history = histories[accesses[i].view.root];
    for (Interval bytes : getBytes(accesses[i], exact))
      history.forEachInterval(bytes, [&](auto &interval) {
        record(interval.writes, i, Hazard::RAW);
        interval.reads.push_back(i);
      });
  }
  // Writes depend on the accesses of earlier tasks. `findWithin` handles two
  // outs of one task.
  for (unsigned i = firstAccess[task]; i < firstAccess[task + 1]; ++i) {
    if (!accesses[i].isWrite)
      continue;
    ByteHistory &history = histories[accesses[i].view.root];
    for (Interval bytes : getBytes(accesses[i], exact))
      history.forEachInterval(bytes, [&](auto &interval) {
        record(interval.writes, i, Hazard::WAW);
        record(interval.reads, i, Hazard::WAR);
      });
  }
  for (unsigned i = firstAccess[task]; i < firstAccess[task + 1]; ++i) {
    if (!accesses[i].isWrite)
      continue;
    ByteHistory &history = histories[accesses[i].view.root];
    for (Interval bytes : getBytes(accesses[i], exact))
      history.forEachInterval(bytes, [&](auto &interval) {
        // The write covers every byte of the interval and so implies the
        // dependences on older tasks. Accesses of this task stay: a vCTA may
        // read a byte after another vCTA has written it.
        if (exact) {
          auto isOlder = [&](unsigned other) {
            return accesses[other].task != task;
          };
          llvm::erase_if(interval.writes, isOlder);
          llvm::erase_if(interval.reads, isOlder);
        }
        interval.writes.push_back(i);
      });
  }
  for (auto [producer, consumer, hazard] : found)
    add(producer, consumer, hazard,
        cache.getOverlap(accesses[producer], accesses[consumer]));
}

FailureOr<Dependences> Dependences::compute(ProgramOp program) {
  DependenceBuilder builder;
  if (failed(builder.run(program)))
    return failure();
  return std::move(builder.result);
}
