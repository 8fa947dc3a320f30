//===- ThreadExchange.cpp - Values that threads exchange ------------------===//

#include "passes/target/attention/ThreadExchange.h"

#include "passes/target/memory_access/SpacePointer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Values of a vector, and bytes of a vector.
static constexpr int64_t kVectorValues = 4, kVectorBytes = 16;

int64_t ark::getExchangeBytes(int64_t count, int64_t threads) {
  return llvm::divideCeil(count, kVectorValues) * threads * kVectorBytes;
}

/// Returns the address of a vector of a thread.
static Value getAddress(ImplicitLocOpBuilder &builder, Value pointer,
                        Value thread, int64_t threads, int64_t vector) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value own = arith::MulIOp::create(builder, thread, constant(kVectorBytes));
  Value offset = arith::AddIOp::create(
      builder, own, constant(vector * threads * kVectorBytes));
  return createOffset(builder, pointer, offset);
}

static VectorType getVectorType(OpBuilder &builder) {
  return VectorType::get(kVectorValues, builder.getF32Type());
}

void ark::storeForExchange(ImplicitLocOpBuilder &builder, Value pointer,
                           Value thread, int64_t threads,
                           ArrayRef<Value> values) {
  for (int64_t begin = 0, end = values.size(); begin < end;
       begin += kVectorValues) {
    SmallVector<Value> elements(
        values.slice(begin, std::min(kVectorValues, end - begin)));
    elements.resize(kVectorValues, elements.back());
    Value vector = vector::FromElementsOp::create(
        builder, getVectorType(builder), elements);
    LLVM::StoreOp::create(
        builder, vector,
        getAddress(builder, pointer, thread, threads, begin / kVectorValues),
        kVectorBytes);
  }
}

SmallVector<Value> ark::loadFromExchange(ImplicitLocOpBuilder &builder,
                                         Value pointer, Value thread,
                                         int64_t threads, int64_t count) {
  SmallVector<Value> values;
  for (int64_t begin = 0; begin < count; begin += kVectorValues) {
    Value vector = LLVM::LoadOp::create(
        builder, getVectorType(builder),
        getAddress(builder, pointer, thread, threads, begin / kVectorValues),
        kVectorBytes);
    for (int64_t i = 0; i < std::min(kVectorValues, count - begin); ++i)
      values.push_back(
          vector::ExtractOp::create(builder, vector, ArrayRef<int64_t>{i}));
  }
  return values;
}
