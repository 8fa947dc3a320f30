//===- BoxCopyBuilder.h - Stages that are copied by themselves --*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_BOXCOPYBUILDER_H
#define ARK_PASSES_TARGET_BOXCOPYBUILDER_H

#include "passes/target/WarpgroupBuilder.h"

namespace mlir::ark {

/// Stages are copied in boxes (`cp.async.bulk.tensor`), one of each factor, by
/// its tensor map. The first thread of a warpgroup asks for those of one
/// factor. A stage has two barriers: one says that it is there, the other one
/// that all warps have read it.
class BoxCopyBuilder : public WarpgroupBuilder {
public:
  BoxCopyBuilder(ImplicitLocOpBuilder &builder,
                 ArrayRef<TensorProduct> products, const WarpgroupShape &shape,
                 Value memory, Value thread, int64_t threads);

private:
  enum class Barrier { Full, Empty };
  /// A stage by number, and the parity of the phase of a barrier of it. Numbers
  /// have 32 bits here, as registers do.
  struct Place {
    Value stage, parity;
  };
  /// What a thread that asks knows of its factor.
  struct Factor {
    Value map, column, row, begin, bytes;
  };

  SmallVector<Value> addUp() override;
  Value move(Value descriptor, Value place) override;
  Value small(int64_t number);
  Value getRecord(Value factor);
  void describe(Value tile, int64_t rows, int64_t number, int64_t firstRow);
  Factor load();
  Value getBarrier(Value stage, Barrier which);
  void wait(const Place &place, Barrier which);
  void arrive(Value stage, Value arrives);
  void copy(Value k, Value stage, Value asks);
  void createBarriers();
  void begin();
  void end();
  Place getNext(const Place &place);

  int64_t threads;
  /// The number of its warpgroup, and whether this thread asks for a factor.
  Value group, asks;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_BOXCOPYBUILDER_H
