//===- Liveness.h - Which intermediates may share bytes ---------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_LIVENESS_H
#define ARK_LIB_ANALYSIS_LIVENESS_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {

/// A buffer that a program makes: a `memref.alloc`, or the `memref.view` of the
/// arena that it becomes.
struct Intermediate {
  Value buffer;
  int64_t bytes = 0;
  /// Indices of the tasks that touch it, ascending.
  SmallVector<unsigned> tasks;
  /// Where the first of them is in program order, it fills the buffer.
  bool writtenFirst = false;
  /// Packets: what the last iteration left in them must not be taken for those
  /// of this one, so that nothing else may ever lie there.
  bool isExclusive = false;
};

/// When the intermediates of a bufferised program are in use, under the partial
/// order of the data dependences between its tasks.
///
/// One task depends on an earlier one where both touch bytes of one buffer and
/// one of them writes. That two intermediates already share bytes of an arena
/// makes no dependence here: this analysis says whether they may.
class Liveness {
public:
  /// Fails, with an error, where an operand of a task cannot be resolved.
  static FailureOr<Liveness> compute(ProgramOp program);

  ArrayRef<TaskOp> getTasks() const { return tasks; }
  ArrayRef<Intermediate> getIntermediates() const { return intermediates; }

  /// Whether all of task `earlier` comes before task `later` by dependences.
  bool precedes(unsigned earlier, unsigned later) const {
    return predecessors[later].test(earlier);
  }

  /// Whether every task that touches the one intermediate precedes every task
  /// that touches the other, and neither has its bytes for itself.
  bool mayShare(unsigned first, unsigned second) const;

  /// The most bytes of intermediates that are in use at a time when tasks run
  /// in program order.
  int64_t getLargestLiveSet() const;

private:
  SmallVector<TaskOp> tasks;
  SmallVector<Intermediate> intermediates;
  /// For every task those that precede it.
  std::vector<llvm::BitVector> predecessors;
  /// For every intermediate the tasks that precede all that touch it.
  std::vector<llvm::BitVector> precedesAll;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_LIVENESS_H
