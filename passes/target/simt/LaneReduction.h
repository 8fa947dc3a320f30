//===- LaneReduction.h - One thread's share of a reduction ------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H
#define ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::ark {

/// A reduction loop that several threads share in pieces, in round-robin order.
/// A piece is the number of consecutive iterations whose operands one load
/// fetches.
class LaneReduction {
public:
  /// Returns nothing if the loop does not begin with its neutral element.
  static std::optional<LaneReduction> match(scf::ParallelOp reduction);

  /// Returns a constant upper bound of the number of pieces, if there is one.
  std::optional<int64_t> getNumPieces() const;

  /// Builds the share of thread `lane` of `lanes` before the loop, with clones
  /// of its body. Returns one value per result.
  SmallVector<Value> build(OpBuilder &builder, Value lane, int64_t lanes);

  /// Combines two values of result `result`.
  Value combine(OpBuilder &builder, unsigned result, Value a, Value b) const;

  scf::ParallelOp getLoop() const { return loop; }

private:
  explicit LaneReduction(scf::ParallelOp loop);

  bool hasKnownLength() const;
  void chooseWidth();
  SmallVector<Value> buildUnrolled(OpBuilder &builder, Value lane,
                                   int64_t lanes, int64_t count);
  void buildPieces(OpBuilder &builder, ArrayRef<Value> begins,
                   ArrayRef<Value> piecesExist, bool isUniform,
                   SmallVectorImpl<Value> &sums);
  void buildIteration(OpBuilder &builder, IRMapping &mapping, Value exists,
                      SmallVectorImpl<Value> &sums);
  void buildPiece(OpBuilder &builder, Value begin, ArrayRef<Value> vectors,
                  Value exists, SmallVectorImpl<Value> &sums);
  void loadVectors(OpBuilder &builder, Value begin,
                   function_ref<bool(memref::LoadOp)> isWanted,
                   MutableArrayRef<Value> vectors);
  SmallVector<Value> buildStrided(OpBuilder &builder, Value lane,
                                  int64_t lanes);
  scf::ForOp buildShare(OpBuilder &builder, Value begin, Value end,
                        int64_t distance, int64_t inFlight, bool isRagged,
                        bool isUniform, ValueRange sums);

  scf::ParallelOp loop;
  /// Iterations per piece.
  int64_t width = 1;
  /// Loads that fetch the elements of a whole piece at once.
  SmallVector<memref::LoadOp> wideLoads;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SIMT_LANEREDUCTION_H
