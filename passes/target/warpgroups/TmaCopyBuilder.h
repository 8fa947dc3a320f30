//===- TmaCopyBuilder.h - Matmul stages copied by TMA -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_TMACOPYBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_TMACOPYBUILDER_H

#include "passes/target/warpgroups/WarpgroupBuilder.h"

namespace mlir::ark {

/// Copies stages with TMA (`cp.async.bulk.tensor`): one box per operand and
/// stage, or one box per panel. The first thread of a warpgroup issues the
/// copies of one operand. A stage has two mbarriers: `Full` completes when the
/// data of the stage has arrived, `Empty` when all warps have read the stage.
class TmaCopyBuilder : public WarpgroupBuilder {
public:
  TmaCopyBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

  void build(ValueRange buffers) override {
    storeIfOwner(accumulate(), buffers);
  }

private:
  enum class Barrier { Full, Empty };
  /// The index of a stage, and the phase parity of its mbarriers. Both have 32
  /// bits, the width of a register.
  struct PipelineState {
    Value stage, parity;
  };
  /// The operand that a thread copies. If any operand has panels, `isKMajor` is
  /// 1 for the major K and 0 for the major MN, and `boxes` is the number of
  /// copies per stage.
  struct OperandCopy {
    Value map, column, row, begin, bytes, isKMajor, boxes;
  };

  SmallVector<Value> accumulate();
  Value move(Value descriptor, Value offset) override;
  Value constantI32(int64_t number);
  /// Returns true if an operand has the major MN.
  bool hasPanels() const {
    return !llvm::all_of(
        products, [](const MatmulTile &product) { return product.isKMajor(); });
  }
  Value getRecord(Value operand);
  void describe(const StagedOperand &operand, int64_t number, int64_t firstRow);
  OperandCopy load();
  Value getBarrier(Value stage, Barrier which);
  void wait(const PipelineState &state, Barrier which);
  void arrive(Value stage, Value arrives);
  void copy(Value k, Value stage, Value issues);
  void copyBox(const OperandCopy &operand, Value column, Value row, Value begin,
               Value barrier, Value issues);
  void createBarriers();
  void begin();
  void end();
  PipelineState getNext(const PipelineState &state);

  int64_t threads;
  /// The most copies per stage of any operand.
  int64_t maxBoxes;
  /// The index of the thread's warpgroup, and an i1 that is true if the thread
  /// issues copies.
  Value group, issues;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_TMACOPYBUILDER_H
