//===- Liveness.h - Lifetimes of intermediates ------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_LIVENESS_H
#define ARK_LIB_ANALYSIS_LIVENESS_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {

/// A buffer that a program makes: a `memref.alloc`, or the `memref.view` of the
/// arena that replaces it.
struct Intermediate {
  Value buffer;
  int64_t bytes = 0;
  /// Indices of the tasks that touch the buffer, ascending.
  SmallVector<unsigned> tasks;
  /// True if the first task that touches the buffer, in program order, has it
  /// among its outs only.
  bool writtenFirst = false;
  /// True if no other buffer may share these bytes. This is the case for
  /// packets, since a reader must not confuse the words of the last iteration
  /// with words of the current iteration. It is also the case for the source
  /// and the destination of a copy by a network adapter: the sender does not
  /// learn within the iteration when the adapter has read the source.
  bool isExclusive = false;
};

/// Computes the lifetimes of the intermediates of a bufferised program, under
/// the partial order of the data dependences between its tasks.
///
/// A task depends on an earlier task if both access bytes of one buffer and one
/// of them writes. Arena bytes that two intermediates already share create no
/// dependence here, since this analysis decides whether they may be shared.
class Liveness {
public:
  /// Fails, with an error, if an operand of a task cannot be resolved.
  static FailureOr<Liveness> compute(ProgramOp program);

  ArrayRef<TaskOp> getTasks() const { return tasks; }
  ArrayRef<Intermediate> getIntermediates() const { return intermediates; }

  /// Returns true if dependences order all of task `earlier` before task
  /// `later`.
  bool precedes(unsigned earlier, unsigned later) const {
    return predecessors[later].test(earlier);
  }

  /// Returns true if every task that accesses one intermediate precedes every
  /// task that accesses the other one, and neither intermediate is exclusive.
  bool mayShare(unsigned first, unsigned second) const;

  /// Returns true if, in program order, every task that accesses one
  /// intermediate precedes every task that accesses the other one, and neither
  /// intermediate is exclusive.
  bool isApart(unsigned first, unsigned second) const;

  /// Returns the tasks on which a task depends directly; a task may occur
  /// several times.
  ArrayRef<unsigned> getDirectPredecessors(unsigned task) const {
    return direct[task];
  }

  /// Returns the maximum number of bytes of intermediates that are in use at
  /// the same time when tasks run in program order.
  int64_t getLargestLiveSet() const { return findPeak().second; }

  /// Returns the first task at which that number of bytes is in use; 0 if the
  /// program has no task.
  unsigned getPeak() const { return findPeak().first; }

private:
  std::pair<unsigned, int64_t> findPeak() const;

  SmallVector<TaskOp> tasks;
  SmallVector<Intermediate> intermediates;
  /// For every task, the tasks that precede it.
  std::vector<llvm::BitVector> predecessors;
  std::vector<SmallVector<unsigned>> direct;
  /// For every intermediate, the tasks that precede all tasks which touch it.
  std::vector<llvm::BitVector> precedesAll;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_LIVENESS_H
