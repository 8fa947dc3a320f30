//===- StreamProducts.cpp - Products of a chunk and an activation row -----===//

#include "passes/target/weight_streaming/StreamReader.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kWordBits = 32;

/// Returns true if groups of `elements` consecutive elements of a row have one
/// scale: those that the threads which hold a row of operand A load at once.
static bool haveOneScale(const WeightStream &stream, int64_t elements) {
  int64_t group = stream.quantization->product.group;
  return group == 0 ||
         (group % elements == 0 && stream.getChunkElements() % elements == 0);
}

/// Returns true if the target has a matrix instruction for the operands, which
/// have the same 16-bit float type, or get it in registers.
bool StreamReader::usesTensorCores(ArrayRef<Value> row) const {
  auto vector = cast<VectorType>(row.front().getType());
  Type type = vector.getElementType();
  if (!instruction || type.getIntOrFloatBitWidth() != 16)
    return false;
  const WeightStream &stream = streams.front();
  if (!stream.quantization)
    return getWeightType() == type;
  int64_t threads = kWarpSize / instruction->getLhs().getBlockExtent(0);
  return haveOneScale(stream, threads * vector.getNumElements());
}

/// Creates the accumulators of a result. Tensor cores use one fragment for each
/// of the thread's rows. Scalar code uses one accumulator per load of a chunk,
/// so that consecutive additions are independent.
SmallVector<Value> StreamReader::createAccumulators(const WeightStream &stream,
                                                    ArrayRef<Value> row) {
  Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  return SmallVector<Value>(usesTensorCores(row)
                                ? instruction->getLhs().getExtentPerThread(0) *
                                      instruction->getNumAccumulators()
                                : getNumLoads(stream),
                            zero);
}

/// Returns an element of a vector as f32.
Value StreamReader::extendElement(Value vector, int64_t element) {
  Type f32 = builder.getF32Type();
  Value value = vector::ExtractOp::create(builder, vector, element);
  return value.getType() == f32
             ? value
             : arith::ExtFOp::create(builder, f32, value).getResult();
}

/// Multiplies with scalar fused multiply-adds.
void StreamReader::multiplyScalars(ArrayRef<Value> row, ArrayRef<Value> chunk,
                                   MutableArrayRef<Value> accumulators) {
  for (auto [a, b, sum] : llvm::zip(row, chunk, accumulators)) {
    int64_t size = cast<VectorType>(a.getType()).getNumElements();
    for (int64_t at = 0; at < size; ++at)
      sum = math::FmaOp::create(builder, extendElement(a, at),
                                extendElement(b, at), sum);
  }
}

/// Returns the 32-bit words of a load as operands of an instruction.
SmallVector<Value> StreamReader::getWords(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t count =
      type.getNumElements() * type.getElementTypeBitWidth() / kWordBits;
  Value words = vector::BitCastOp::create(
      builder, VectorType::get(count, builder.getI32Type()), vector);
  SmallVector<Value> all;
  for (int64_t i = 0; i < count; ++i) {
    Value one = vector::ExtractOp::create(builder, words, i);
    if (type.getElementType().isF16())
      one = LLVM::BitcastOp::create(
          builder, VectorType::get(2, builder.getF16Type()), one);
    all.push_back(one);
  }
  return all;
}

/// Multiplies on tensor cores. The words that a thread loads of a chunk are
/// operand A: with `mma.sync`, they alternate between rows g and g + 8, where g
/// is the index of the thread's quad. The words of the row that belong to one
/// of these rows form column g of operand B. The results are therefore the
/// diagonals of a block of the result, and all other elements are unused.
/// Threads exchange no data before the products, because a loaded register is
/// an operand without conversion. Each of the thread's rows has a fragment of
/// accumulators.
void StreamReader::multiplyWords(Type element, ArrayRef<Value> row,
                                 ArrayRef<Value> weights,
                                 MutableArrayRef<Value> accumulators) {
  MatrixFragment lhs = instruction->getLhs();
  int64_t numAccumulators = instruction->getNumAccumulators();
  for (size_t first = 0; first < row.size(); first += kLoadWords)
    for (int64_t block = 0; block < lhs.getExtentPerThread(0); ++block) {
      SmallVector<Value> column;
      for (auto [i, word] : llvm::enumerate(row.slice(first, kLoadWords)))
        if (lhs.getOffset(2 * i).first == block * lhs.getBlockExtent(0))
          column.push_back(word);
      MutableArrayRef<Value> own =
          accumulators.slice(block * numAccumulators, numAccumulators);
      llvm::copy(instruction->multiply(builder, element,
                                       weights.slice(first, kLoadWords), column,
                                       ValueRange(own)),
                 own.begin());
    }
}

void StreamReader::multiplyMatrices(ArrayRef<Value> row, ArrayRef<Value> chunk,
                                    MutableArrayRef<Value> accumulators) {
  for (auto [a, b] : llvm::zip(row, chunk))
    multiplyWords(getWeightType(), getWords(a), getWords(b), accumulators);
}

/// Multiplies chunks of quantized weights. The elements of one load of a thread
/// have one scale, which multiplies the sum of their products, and not each
/// weight. With tensor cores, the threads of a quad hold one row of operand A,
/// whose products have one accumulator: the loads of these threads have one
/// scale.
void StreamReader::multiplyQuantized(const WeightStream &stream,
                                     ArrayRef<Value> row, ArrayRef<Value> chunk,
                                     ArrayRef<Value> factors,
                                     MutableArrayRef<Value> accumulators) {
  Value none = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
  WeightWidener widener(builder, stream.getNumBits() == 4);
  int64_t perLoad = stream.quantization->getBuffers().size();
  for (auto [load, a, b] : llvm::enumerate(row, chunk)) {
    Value scale = factors[load * perLoad];
    Value zero = perLoad > 1 ? factors[load * perLoad + 1] : Value();
    if (!usesTensorCores(row)) {
      Value sum = none;
      for (auto [at, weight] : llvm::enumerate(widener.getScalars(b, zero)))
        sum = math::FmaOp::create(builder, weight, extendElement(a, at), sum);
      accumulators[load] =
          math::FmaOp::create(builder, scale, sum, accumulators[load]);
      continue;
    }
    Type element = cast<VectorType>(a.getType()).getElementType();
    SmallVector<Value> sums(accumulators.size(), none);
    SmallVector<Value> weights;
    for (Value pair : widener.getPairs(b, zero, element))
      llvm::append_range(weights, getWords(pair));
    multiplyWords(element, getWords(a), weights, sums);
    for (auto [accumulator, sum] : llvm::zip(accumulators, sums))
      accumulator = math::FmaOp::create(builder, scale, sum, accumulator);
  }
}

/// Adds the elements of the diagonals. The result is valid in the first thread
/// of the warp.
Value StreamReader::addDiagonals(ArrayRef<Value> accumulators) {
  MatrixFragment acc = instruction->getAcc();
  // Column g belongs to thread g / 2 of a quad, as the first or the second of
  // its two columns.
  SmallVector<Value> columns;
  for (int64_t column = 0; column < acc.getConsecutive(1); ++column) {
    Value sum;
    for (int64_t block = 0; block < acc.getNumBlocks(0); ++block) {
      Value own = accumulators[block * (acc.getNumElements() +
                                        acc.getExtentPerThread(1)) +
                               column];
      sum = sum ? arith::AddFOp::create(builder, sum, own).getResult() : own;
    }
    columns.push_back(sum);
  }
  Value isOdd = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::ne,
      arith::AndIOp::create(builder, inWarp, index(acc.getStride(0))),
      index(0));
  Value own = arith::SelectOp::create(builder, isOdd, columns[1], columns[0]);
  // Diagonal element g lies in row g, at column g. Threads of elements whose
  // indices differ in one bit hence differ by a fixed XOR distance.
  SmallVector<int64_t> distances;
  for (int64_t bit = 1; bit < acc.getBlockExtent(0); bit *= 2)
    distances.push_back(bit * acc.getStride(0) +
                        bit / acc.getConsecutive(1) * acc.getStride(1));
  return addThreads(own, distances);
}

/// Reduces the accumulators of a warp. The result is valid in the first thread
/// of the warp.
Value StreamReader::addAccumulators(ArrayRef<Value> row,
                                    ArrayRef<Value> accumulators) {
  if (usesTensorCores(row))
    return addDiagonals(accumulators);
  SmallVector<Value> sums(accumulators);
  while (sums.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t at = 0; at + 1 < sums.size(); at += 2)
      pairs.push_back(arith::AddFOp::create(builder, sums[at], sums[at + 1]));
    if (sums.size() % 2)
      pairs.push_back(sums.back());
    sums = std::move(pairs);
  }
  SmallVector<int64_t> distances;
  for (int64_t distance = kWarpSize / 2; distance > 0; distance /= 2)
    distances.push_back(distance);
  return addThreads(sums.front(), distances);
}

/// Adds `sum` over the threads of a warp at these XOR distances. The result is
/// valid in the first thread of the warp.
Value StreamReader::addThreads(Value sum, ArrayRef<int64_t> distances) {
  for (int64_t distance : distances) {
    Value other = gpu::ShuffleOp::create(
                      builder, sum, static_cast<int32_t>(distance),
                      static_cast<int32_t>(kWarpSize), gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    sum = arith::AddFOp::create(builder, sum, other);
  }
  return sum;
}
