//===- Dependences.h - Which vCTA must precede which ------------*- C++ -*-===//
//
// Exact dependences between the vCTAs of a program on buffers. The program
// order, which they preserve, is that of the tasks in the block and of the
// vCTAs in the row-major order of their grid.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_DEPENDENCES_H
#define ARK_LIB_ANALYSIS_DEPENDENCES_H

#include "lib/analysis/Regions.h"

#include <memory>

namespace mlir::ark {

enum class Hazard { RAW, WAR, WAW };
StringRef stringifyHazard(Hazard hazard);

/// For every vCTA of a consumer the vCTAs of a producer that must precede it.
/// Most vCTAs need the same producers as others do, so sets are shared.
struct Relation {
  /// Sorted, disjoint, not adjacent.
  using VCTAs = SmallVector<Interval, 1>;

  /// For every vCTA of the consumer its entry in `sets`; entry 0 is empty.
  std::vector<uint32_t> setOf;
  std::vector<VCTAs> sets;
  /// False where the regions were too fragmented to compare byte by byte; the
  /// relation then holds too many pairs.
  bool exact = true;

  const VCTAs &getProducersOf(int64_t vcta) const { return sets[setOf[vcta]]; }
  bool isEmpty() const { return sets.size() == 1; }
};

/// One pair of operands that touch the same bytes.
struct Dependence {
  /// Positions in `Dependences::getTasks()`; equal where vCTAs of one task
  /// depend on each other.
  unsigned producer, consumer;
  unsigned producerOperand, consumerOperand;
  Hazard hazard;
  /// Whether what is read tells by itself that it is there.
  bool byPackets;
  /// Shared by all pairs of operands with the same structure.
  std::shared_ptr<const Relation> relation;
};

/// The dependences of one program. Those that others imply byte by byte are
/// left out: a read depends on the last write, a write on the last one and on
/// the reads since.
class Dependences {
public:
  /// Fails with an error where an operand cannot be resolved to bytes, and says
  /// in a remark where a relation is not exact.
  static FailureOr<Dependences> compute(ProgramOp program);

  ArrayRef<TaskOp> getTasks() const { return tasks; }
  TaskOp getTask(unsigned position) const { return tasks[position]; }
  /// In program order of consumers.
  ArrayRef<Dependence> getAll() const { return dependences; }
  /// Those whose consumer is the task.
  ArrayRef<Dependence> getIncoming(unsigned task) const {
    return ArrayRef<Dependence>(dependences)
        .slice(firstIncoming[task],
               firstIncoming[task + 1] - firstIncoming[task]);
  }

private:
  friend class DependenceBuilder;
  SmallVector<TaskOp> tasks;
  std::vector<Dependence> dependences;
  std::vector<unsigned> firstIncoming;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_DEPENDENCES_H
