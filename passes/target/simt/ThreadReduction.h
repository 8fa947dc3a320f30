//===- ThreadReduction.h - One thread's share of a reduction ----*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_THREADREDUCTION_H
#define ARK_PASSES_TARGET_SIMT_THREADREDUCTION_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {

/// A reduction loop that several threads share in strips, in round-robin order.
/// A strip is the consecutive iterations whose operands one vector load
/// fetches.
class ThreadReduction {
public:
  /// Returns nothing if the loop does not begin with its neutral element.
  static std::optional<ThreadReduction> match(scf::ParallelOp reduction);

  /// Returns a constant upper bound of the number of strips, if there is one.
  std::optional<int64_t> getNumStrips() const;

  /// Builds the share of thread `thread` of `threads` before the loop, with
  /// clones of its body. Returns one value per result.
  SmallVector<Value> build(OpBuilder &builder, Value thread, int64_t threads);

  /// Combines two values of result `result`.
  Value combine(OpBuilder &builder, unsigned result, Value a, Value b) const;

  scf::ParallelOp getLoop() const { return loop; }

private:
  explicit ThreadReduction(scf::ParallelOp loop);

  bool hasKnownLength() const;
  void chooseWidth();
  SmallVector<Value> buildUnrolled(OpBuilder &builder, Value thread,
                                   int64_t threads, int64_t count);
  void buildStrips(OpBuilder &builder, ArrayRef<Value> begins,
                   ArrayRef<Value> stripsExist, bool isUniform,
                   SmallVectorImpl<Value> &accumulators);
  void buildIteration(OpBuilder &builder, IRMapping &mapping, Value exists,
                      SmallVectorImpl<Value> &accumulators);
  void buildStrip(OpBuilder &builder, Value begin, ArrayRef<Value> vectors,
                  Value exists, SmallVectorImpl<Value> &accumulators);
  void loadVectors(OpBuilder &builder, Value begin,
                   function_ref<bool(memref::LoadOp)> isWanted,
                   MutableArrayRef<Value> vectors);
  SmallVector<Value> buildStrided(OpBuilder &builder, Value thread,
                                  int64_t threads);
  scf::ForOp buildShare(OpBuilder &builder, Value begin, Value end,
                        int64_t distance, int64_t inFlight, bool isRagged,
                        bool isUniform, ValueRange accumulators);

  scf::ParallelOp loop;
  /// Iterations per strip.
  int64_t width = 1;
  /// Loads that fetch the elements of a whole strip at once.
  SmallVector<memref::LoadOp> wideLoads;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_THREADREDUCTION_H
