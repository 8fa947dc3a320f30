//===- TmaCopyBuilder.h - Matmul stages copied by TMA -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_TMACOPYBUILDER_H
#define ARK_PASSES_TARGET_MATMUL_TMACOPYBUILDER_H

#include "passes/target/matmul/WarpgroupBuilder.h"

namespace mlir::ark {

/// Copies stages with TMA (`cp.async.bulk.tensor`), one box per operand and
/// stage. The first thread of a warpgroup issues the copies of one operand. A
/// stage has two mbarriers: `Full` completes when the data of the stage has
/// arrived, `Empty` when all warps have read the stage.
class TmaCopyBuilder : public WarpgroupBuilder {
public:
  TmaCopyBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

private:
  enum class Barrier { Full, Empty };
  /// The index of a stage, and the phase parity of its mbarriers. Both have 32
  /// bits, the width of a register.
  struct PipelineState {
    Value stage, parity;
  };
  /// The operand that a thread copies.
  struct OperandCopy {
    Value map, column, row, begin, bytes;
  };

  SmallVector<Value> accumulate() override;
  Value move(Value descriptor, Value offset) override;
  Value constantI32(int64_t number);
  Value getRecord(Value operand);
  void describe(Value tile, int64_t rows, int64_t number, int64_t firstRow);
  OperandCopy load();
  Value getBarrier(Value stage, Barrier which);
  void wait(const PipelineState &state, Barrier which);
  void arrive(Value stage, Value arrives);
  void copy(Value k, Value stage, Value issues);
  void createBarriers();
  void begin();
  void end();
  PipelineState getNext(const PipelineState &state);

  int64_t threads;
  /// The index of the thread's warpgroup, and an i1 that is true if the thread
  /// issues copies.
  Value group, issues;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATMUL_TMACOPYBUILDER_H
