//===- Footprints.h - Memory footprints of tasks ----------------*- C++ -*-===//
//
// The tables of a kernel have a slot and a byte offset for every operand. A
// footprint adds the value of the operand, the layout that the body sees, and
// the region of every vCTA. docs/bundle.md describes footprints.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_KERNEL_FOOTPRINTS_H
#define ARK_PASSES_KERNEL_FOOTPRINTS_H

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {

/// Attribute of an `ark.kernel`: slot, byte offset and bytes of every value
/// that is not a buffer, one after the other.
inline constexpr llvm::StringLiteral kIntermediatesAttr = "intermediates";

/// Collects the footprints of tasks. Tasks with the same body and the same
/// accesses share one footprint.
class FootprintTable {
public:
  /// Takes the slots of the program's arguments, arena and packets.
  explicit FootprintTable(const DenseMap<Value, int64_t> &slots)
      : slots(slots) {}

  /// Adds the entries `footprint` and `values` to a task's description. Fails
  /// with an error if an operand leaves its value or has another layout than
  /// the body's argument.
  LogicalResult describe(TaskOp task, ArrayRef<BufferView> views,
                         func::FuncOp body,
                         SmallVectorImpl<NamedAttribute> &entry);
  /// Returns the footprints of a body, ordered by their indices.
  ArrayAttr getFootprints(func::FuncOp body);
  /// Returns slot, byte offset and bytes of every value that is not an
  /// argument.
  ArrayRef<int64_t> getIntermediates() const { return intermediates; }

private:
  FailureOr<DictionaryAttr> describeOperand(TaskOp task, unsigned index,
                                            const BufferView &view,
                                            func::FuncOp body);
  int64_t getValue(const BufferView &view);

  const DenseMap<Value, int64_t> &slots;
  DenseMap<Operation *, llvm::MapVector<Attribute, int64_t>> footprints;
  DenseMap<Value, int64_t> values;
  SmallVector<int64_t> intermediates;
};

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_FOOTPRINTS_H
