//===- ParameterStreams.h - Products that read parameters once --*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_PARAMETERSTREAMS_H
#define ARK_PASSES_TARGET_PARAMETERSTREAMS_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {

/// A product of one row with rows of a parameter, each vCTA with rows of its
/// own: the run reads consecutive bytes, and each of them once.
struct ParameterStream {
  linalg::GenericOp product;
  /// `memref<1xK>`, the same for all vCTAs of a run, and the parameter,
  /// `memref<NxK>`.
  Value row;
  BlockArgument parameter;
  int64_t rowsPerVcta = 0;
  /// Rows are cut into so many pieces of so many bytes.
  int64_t piecesPerRow = 0, pieceBytes = 0;

  int64_t getNumRows() const;
  /// Of the rows that a run of vCTAs has.
  int64_t getNumPieces(int64_t begin, int64_t end) const;
  MemRefType getType() const;
};

/// How far the tiles of neighbouring vCTAs are apart, if they begin at a
/// multiple of the vCTA's number.
std::optional<int64_t> getVctaStride(OpFoldResult offset, scf::ForOp vctas);

/// Those of a body that multiply one row, in its order.
SmallVector<ParameterStream> findParameterStreams(KernelOp kernel,
                                                  func::FuncOp body);

/// Columns of the table of operands of a kernel.
struct OperandPlace {
  int64_t slot, offset;
};

/// A run of vCTAs in the instructions of a lane.
struct LaneRun {
  int32_t body;
  int64_t firstOperand, begin, end;
};

/// Every lane's, in their order.
SmallVector<SmallVector<LaneRun>> getLaneRuns(KernelOp kernel);
/// The most vCTAs that a lane runs of a body at once; 0 where it never does.
int64_t getLongestRun(KernelOp kernel, func::FuncOp body);
OperandPlace getOperandPlace(KernelOp kernel, int64_t row);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_PARAMETERSTREAMS_H
