//===- StreamReader.h - Loops that read streamed weights --------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_WEIGHT_STREAMING_STREAMREADER_H
#define ARK_PASSES_TARGET_WEIGHT_STREAMING_STREAMREADER_H

#include "passes/kernel/KernelAbi.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/weight_streaming/QuantizedChunks.h"
#include "passes/target/weight_streaming/WeightStreams.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Words of 32 bits that a thread loads at once.
inline constexpr int64_t kLoadWords = kLoadBytes / 4;
/// The kernel texts of weight rings fix the warp size.
inline constexpr int64_t kWarpSize = abi::kCudaWarpSize;

/// A tile that is loaded before the products although it is read after them:
/// each vCTA reads consecutive elements of a `memref<1xN>`. `copy` holds the
/// elements of the whole work item.
struct EarlyRead {
  BlockArgument source;
  int64_t elementsPerVcta = 0;
  Value copy;
};

/// Matches a tile that no op writes. The result has no copy yet.
std::optional<EarlyRead> matchEarlyRead(memref::SubViewOp tile,
                                        scf::ForOp vctas);

/// Returns the number of rows of a stream in the vCTAs [begin, end).
Value getNumRows(ImplicitLocOpBuilder &builder, const WeightStream &stream,
                 Value begin, Value end);

/// Builds the function that computes the products of a body for all vCTAs of a
/// work item. One loop reads the segments of all products if these need no
/// scales: to open and to close a segment takes a warp as long as the half of a
/// chunk.
class StreamReader {
public:
  StreamReader(func::FuncOp body, ArrayRef<WeightStream> streams,
               ArrayRef<EarlyRead> reads, ArrayRef<Value> outputs);

  /// Returns true if one loop reads the chunks of all products.
  static bool readsAtOnce(ArrayRef<WeightStream> streams) {
    return streams.size() > 1 && !streams.front().quantization;
  }

  func::FuncOp createFunction();
  /// Returns the operands of the call: the range of vCTAs, the row, the scales
  /// and zeros of quantized products, and the sources of early reads, then the
  /// buffers that the function writes, which are the copies of the sources and
  /// the results of the products.
  SmallVector<Value> getOperands();

private:
  /// The first chunk of a warp and the number of chunks in one or more
  /// segments, and the state of the ring: the number of chunks read, then the
  /// request cursor.
  struct OpenSegments {
    Value first, count;
    SmallVector<Value> state;
  };

  Value index(int64_t value);
  /// Returns the vector type of `element` that matches one load of the
  /// parameter.
  VectorType getVectorType(Type element) const;
  Type getWeightType() const;
  static int64_t getNumLoads(const WeightStream &stream);
  SmallVector<std::pair<Value, Value>> requestEarly(ValueRange sources);
  void keepEarly(ArrayRef<std::pair<Value, Value>> elements, ValueRange copies);
  Value isInChunk(const WeightStream &stream, int64_t load);
  Value selectIf(Value condition, Value value, Value other);
  Value zeroUnless(Value condition, Value loaded);
  SmallVector<Value> getColumns(const WeightStream &stream, Value warpOfRow);
  SmallVector<Value> loadRow(const WeightStream &stream, Value row,
                             Value warpOfRow);
  SmallVector<Value> loadChunk(const WeightStream &stream, Value slot);
  bool usesTensorCores(ArrayRef<Value> row) const;
  SmallVector<Value> createAccumulators(const WeightStream &stream,
                                        ArrayRef<Value> row);
  void multiplyScalars(ArrayRef<Value> row, ArrayRef<Value> chunk,
                       MutableArrayRef<Value> accumulators);
  SmallVector<Value> getWords(Value vector);
  void multiplyWords(Type element, ArrayRef<Value> row, ArrayRef<Value> weights,
                     MutableArrayRef<Value> accumulators);
  void multiplyMatrices(ArrayRef<Value> row, ArrayRef<Value> chunk,
                        MutableArrayRef<Value> accumulators);
  Value extendElement(Value vector, int64_t element);
  void multiplyQuantized(const WeightStream &stream, ArrayRef<Value> row,
                         ArrayRef<Value> chunk, ArrayRef<Value> factors,
                         MutableArrayRef<Value> accumulators);
  Value addDiagonals(ArrayRef<Value> accumulators);
  Value addAccumulators(ArrayRef<Value> row, ArrayRef<Value> accumulators);
  void multiplyChunk(const WeightStream &stream, ArrayRef<Value> row,
                     ArrayRef<Value> factors, SmallVectorImpl<Value> &state,
                     MutableArrayRef<Value> accumulators);
  Value loadFactor(Value buffer, Value row, Value column);
  SmallVector<Value> loadFactors(const WeightStream &stream, ValueRange buffers,
                                 Value warpOfRow, Value item);
  OpenSegments open();
  OpenSegments openAll(Value warp);
  void buildLoop(const WeightStream &stream, const OpenSegments &segments,
                 ArrayRef<Value> row, Value warpOfRow, ValueRange buffers,
                 Value output);
  Value addThreads(Value sum, ArrayRef<int64_t> distances);

  func::FuncOp body;
  ArrayRef<WeightStream> streams;
  ArrayRef<EarlyRead> reads;
  ArrayRef<Value> outputs;
  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  /// Null if the target has no supported instruction.
  std::unique_ptr<MatrixInstruction> instruction;
  Value thread, inWarp;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_WEIGHT_STREAMING_STREAMREADER_H
