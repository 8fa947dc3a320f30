//===- ArenaPlanner.h - Offsets of intermediates ----------------*- C++ -*-===//

#ifndef ARK_PASSES_MEMORY_PLACEMENT_ARENAPLANNER_H
#define ARK_PASSES_MEMORY_PLACEMENT_ARENAPLANNER_H

#include "lib/analysis/Liveness.h"

namespace mlir::ark {

/// Offsets of all intermediates of a program in one arena.
struct ArenaPlan {
  /// Size of the arena, and of the part of each rank.
  int64_t bytes = 0, partBytes = 0;
  SmallVector<int64_t> offsets;
};

/// Finds offsets for the intermediates of a program. Intermediates share bytes
/// if data orders their tasks and, on request, if the order of the program
/// does.
class ArenaPlanner {
public:
  ArenaPlanner(const Liveness &liveness, ProgramOp program);

  /// Returns the smallest plan found that adds no order between tasks.
  ArenaPlan planByData() const { return run(byData); }

  /// Returns the smallest plan found in which intermediates also share bytes if
  /// the program has their tasks one after the other, on one rank.
  ArenaPlan planByProgram() const { return run(getInterferences()); }

  /// Returns a plan with parts of at most `limit` bytes. Intermediates share
  /// bytes by the order of the program only if the predicted time of the tasks
  /// between their uses is at least a gap. The gap is the longest one found
  /// that keeps the limit: tasks that are far apart rarely run at the same
  /// time. Returns nothing if `planByProgram` exceeds the limit.
  std::optional<ArenaPlan> planWithin(int64_t limit) const;

private:
  /// For every intermediate, the ones that must not share its bytes.
  using Interferences = std::vector<llvm::BitVector>;

  /// Returns the predicted time of the tasks before each task, one after the
  /// other.
  SmallVector<double> getStartNs() const;
  /// Returns the interferences if tasks of `gap` nanoseconds suffice between
  /// the uses of intermediates that data does not order. `startNs` is not read
  /// if the gap is 0.
  Interferences getInterferences(ArrayRef<double> startNs = {},
                                 double gap = 0) const;
  ArenaPlan run(const Interferences &interferes) const;
  ArenaPlan place(ArrayRef<unsigned> order,
                  const Interferences &interferes) const;
  int64_t findOffset(unsigned intermediate,
                     ArrayRef<std::pair<int64_t, unsigned>> placed,
                     const Interferences &interferes) const;

  ProgramOp program;
  const Liveness &liveness;
  int64_t numRanks;
  /// The size of each rank's part is a multiple of this number of bytes.
  int64_t partAlignment;
  SmallVector<int64_t> sizes;
  /// Rank of every intermediate. Each rank has its own part of the arena, and
  /// offsets count from the start of this part.
  SmallVector<int64_t> ranks;
  /// True for an intermediate that only tasks of its rank touch.
  SmallVector<bool> isLocal;
  /// The interferences if only data orders tasks.
  Interferences byData;
};

} // namespace mlir::ark

#endif // ARK_PASSES_MEMORY_PLACEMENT_ARENAPLANNER_H
