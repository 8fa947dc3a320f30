//===- Dependences.h - Dependences between vCTAs ----------------*- C++ -*-===//
//
// Computes exact dependences between the vCTAs of a program on buffers. The
// dependences preserve the program order: tasks in the order of the block, and
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

/// For every vCTA of a consumer, the vCTAs of a producer that must precede it.
/// Most vCTAs have the same producers as other vCTAs, so equal sets are stored
/// once.
struct Relation {
  /// Sorted, disjoint, not adjacent.
  using VCTAs = SmallVector<Interval, 1>;

  /// For every vCTA of the consumer, its entry in `sets`; entry 0 is empty.
  std::vector<uint32_t> setOf;
  std::vector<VCTAs> sets;
  /// False if the regions were too fragmented for a comparison byte by byte.
  /// The relation then holds too many pairs.
  bool exact = true;

  const VCTAs &getProducersOf(int64_t vcta) const { return sets[setOf[vcta]]; }
  bool isEmpty() const { return sets.size() == 1; }
};

/// A pair of operands that access the same bytes.
struct Dependence {
  /// Positions in `Dependences::getTasks()`; equal if vCTAs of one task depend
  /// on each other.
  unsigned producer, consumer;
  unsigned producerOperand, consumerOperand;
  Hazard hazard;
  /// True if packets carry the data, so that the reader itself sees the arrival
  /// of the data.
  bool byPackets;
  /// Shared by all pairs of operands with the same structure.
  std::shared_ptr<const Relation> relation;
};

/// The direct dependences of a program: a read of a byte depends on the last
/// write, and a write depends on the last write and on the reads after it. The
/// transitive dependences follow and are not stored.
class Dependences {
public:
  /// Fails with an error if an operand cannot be resolved to bytes. Emits a
  /// remark for every relation that is not exact.
  static FailureOr<Dependences> compute(ProgramOp program);

  ArrayRef<TaskOp> getTasks() const { return tasks; }
  TaskOp getTask(unsigned position) const { return tasks[position]; }
  /// Returns all dependences, in program order of consumers.
  ArrayRef<Dependence> getAll() const { return dependences; }
  /// Returns the dependences whose consumer is the task.
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
