//===- LaneReduction.h - One thread's share of a reduction ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H
#define ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {

/// A reducing loop that several threads share. Pieces are dealt to the threads
/// in turn. A piece is as many consecutive iterations as one load fetches
/// operands for.
class LaneReduction {
public:
  /// Returns nothing if the loop does not begin with its neutral element.
  static std::optional<LaneReduction> match(scf::ParallelOp reduction);

  /// Returns an upper bound of the number of pieces, if it has a constant one.
  std::optional<int64_t> getNumPieces() const;

  /// Builds the share of thread `lane` of `lanes` at the place of the loop,
  /// with clones of its body. Returns one value for each result.
  SmallVector<Value> build(OpBuilder &builder, Value lane, int64_t lanes);

  /// Combines two values of the result with the number `result`.
  Value combine(OpBuilder &builder, unsigned result, Value a, Value b) const;

  scf::ParallelOp getLoop() const { return loop; }

private:
  explicit LaneReduction(scf::ParallelOp loop);

  bool hasKnownLength() const;
  void chooseWidth();
  SmallVector<Value> buildUnrolled(OpBuilder &builder, Value lane,
                                   int64_t lanes, int64_t count);
  void buildPieces(OpBuilder &builder, ArrayRef<Value> begins,
                   ArrayRef<Value> areThere, bool isUniform,
                   SmallVectorImpl<Value> &sums);
  void buildIteration(OpBuilder &builder, IRMapping &mapping, Value isThere,
                      SmallVectorImpl<Value> &sums);
  void buildPiece(OpBuilder &builder, Value begin, ArrayRef<Value> vectors,
                  Value isThere, SmallVectorImpl<Value> &sums);
  void loadVectors(OpBuilder &builder, Value begin,
                   function_ref<bool(memref::LoadOp)> isWanted,
                   MutableArrayRef<Value> vectors);
  SmallVector<Value> buildStrided(OpBuilder &builder, Value lane,
                                  int64_t lanes);
  scf::ForOp buildShare(OpBuilder &builder, Value begin, Value end,
                        int64_t distance, int64_t inFlight, bool isRagged,
                        bool isUniform, ValueRange sums);

  scf::ParallelOp loop;
  /// Iterations of a piece.
  int64_t width = 1;
  /// Loads that fetch the elements of a whole piece at once.
  SmallVector<memref::LoadOp> wideLoads;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H
