//===- SplitBuilder.h - Products of f32 operands by wgmma -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WARPGROUPS_SPLITBUILDER_H
#define ARK_PASSES_TARGET_WARPGROUPS_SPLITBUILDER_H

#include "passes/target/warpgroups/ThreadCopyBuilder.h"

namespace mlir::ark {

/// Multiplies f32 operands. The threads load a stage of both operands, split
/// the elements into bf16 terms, and store the terms to shared memory, while
/// the warpgroups multiply the terms of the stage before. Threads add the
/// products of each stage to sums, since `wgmma` rounds accumulators toward
/// zero after each instruction. A sum that is not finite is computed again in
/// f32, since the terms of an infinity have no meaning.
class SplitBuilder : public ThreadCopyBuilder {
public:
  SplitBuilder(ImplicitLocOpBuilder &builder, ArrayRef<MatmulTile> products,
               const WarpgroupShape &shape, Value memory, Value thread,
               int64_t threads);

  void build(ValueRange buffers) override {
    storeIfOwner(accumulate(), buffers);
  }

private:
  /// Elements that a thread has loaded, and the offset at which it stores the
  /// first terms of the elements in a stage.
  struct Loaded {
    SmallVector<Value> elements;
    Value offset;
  };

  SmallVector<Value> accumulate();
  void store(Value accumulators, unsigned product, Value buffer) override;
  SmallVector<Loaded> load(Value k);
  void split(ArrayRef<Loaded> loaded, Value stage);
  void addTo(MutableArrayRef<Value> sums, Value products);
  Value isAnyNotFinite(Value accumulators);
  Value computeElement(unsigned product, Value row, Value column);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WARPGROUPS_SPLITBUILDER_H
