//===- CpAsyncBuilder.h - Matmul stages copied by cp.async ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H

#include "passes/target/warpgroups/NextTile.h"
#include "passes/target/warpgroups/ThreadCopyBuilder.h"

namespace mlir::ark {

/// Copies each stage with `cp.async`: every thread copies 16 bytes at a time.
/// If a work item has several vCTAs, the first stages of the next tile are
/// copied while threads store the accumulators of a tile.
class CpAsyncBuilder : public ThreadCopyBuilder {
public:
  CpAsyncBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
                 const WarpgroupShape &shape, Value memory, Value thread,
                 int64_t threads);

  void build(ValueRange buffers) override;

private:
  SmallVector<Value> createSteps(bool multiplies);
  void buildStages(bool multiplies, ValueRange buffers);
  Value getCopiedBytes(const Source &source, int64_t rowOffset);
  Value getWindowBytes(const RowConvolution &convolution, int64_t stageRows,
                       int64_t rowOffset);
  void copy(ArrayRef<Source> from, Value k, Value stage);
  void copyFirst(ArrayRef<Source> from, int64_t begin, int64_t end);
  Value getStage(int64_t number);
  void createIf(Value condition, function_ref<void()> build);
  void copyNextTile();

  /// The next tile of the work item, and the number of its stages that are
  /// copied early. The number is zero if there is no such tile.
  std::optional<NextTile> next;
  int64_t early;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_CPASYNCBUILDER_H
