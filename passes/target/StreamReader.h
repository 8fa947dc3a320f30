//===- StreamReader.h - The loops that read rings ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_STREAMREADER_H
#define ARK_PASSES_TARGET_STREAMREADER_H

#include "passes/target/ParameterStreams.h"
#include "passes/target/RowPrologue.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Warps of a CTA that has rings. CudaRing.mlir, CudaStream.mlir and
/// CudaStreamLane.mlir have this number spelled out.
inline constexpr int64_t kStreamWarps = 16;

/// What a run reads of an argument after its products: consecutive elements of
/// a `memref<1xN>`, which each vCTA has some of. `copy` has them from the first
/// one of the run on.
struct EarlyRead {
  BlockArgument source;
  int64_t elementsPerVcta = 0;
  Value copy;
};

/// Of a tile that is only read; without a copy.
std::optional<EarlyRead> matchEarlyRead(memref::SubViewOp tile,
                                        scf::ForOp vctas);

/// The function of a body that adds up its products for all vCTAs of a run.
class StreamReader {
public:
  StreamReader(func::FuncOp body, ArrayRef<ParameterStream> streams,
               ArrayRef<EarlyRead> reads, ArrayRef<Value> sums);

  func::FuncOp createFunction();
  /// What it is called with: the run, the row, what is read early;
  /// then what it writes, copies of that and sums.
  SmallVector<Value> getOperands();

private:
  Value index(int64_t value);
  /// As many elements as a load of a parameter brings.
  VectorType getVectorType(Type element) const;
  Type getWeightType() const;
  SmallVector<std::pair<Value, Value>> askEarly(ValueRange sources);
  void keepEarly(ArrayRef<std::pair<Value, Value>> elements, ValueRange copies);
  SmallVector<Value> loadRow(Value row, Value part, const RowShares &shares);
  void buildLoop(const ParameterStream &stream, ArrayRef<Value> row, Value part,
                 Value sums);
  SmallVector<Value> loadPiece(const ParameterStream &stream, Value place);
  Value multiplyScalars(ArrayRef<Value> row, ArrayRef<Value> piece);
  SmallVector<Value> getWords(Value vector);
  Value multiplyMatrices(ArrayRef<Value> row, ArrayRef<Value> piece);
  Value addLanes(Value sum, ArrayRef<int32_t> distances);

  func::FuncOp body;
  ArrayRef<ParameterStream> streams;
  ArrayRef<EarlyRead> reads;
  ArrayRef<Value> sums;
  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  Value thread, lane;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_STREAMREADER_H
