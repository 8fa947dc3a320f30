//===- MatrixInstruction.cpp - Fragments and instructions -----------------===//

#include "passes/target/matrix_units/MatrixInstruction.h"

#include "dialects/ark/ArkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

SmallVector<int64_t> MatrixFragment::getSharingDistances(unsigned dim) const {
  SmallVector<int64_t> distances;
  int64_t stride = layout.getStrides()[1 - dim];
  for (int64_t count = getThreadsSharing(dim) / 2; count > 0; count /= 2)
    distances.push_back(count * stride);
  return distances;
}

Value MatrixFragment::createThreadIndex(OpBuilder &builder, Location loc,
                                        Value inWarp, unsigned dim) const {
  auto constant = [&](int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  int64_t stride = layout.getStrides()[dim], parts = layout.getThreads()[dim];
  Value part = inWarp;
  if (stride != 1)
    part = arith::DivUIOp::create(builder, loc, part, constant(stride));
  if (stride * parts < getNumThreads())
    part = arith::RemUIOp::create(builder, loc, part, constant(parts));
  return part;
}

Value MatrixFragment::createFirst(OpBuilder &builder, Location loc,
                                  Value inWarp, unsigned dim) const {
  Value part = createThreadIndex(builder, loc, inWarp, dim);
  if (getConsecutive(dim) == 1)
    return part;
  return arith::MulIOp::create(
      builder, loc, part,
      arith::ConstantIndexOp::create(builder, loc, getConsecutive(dim)));
}

std::pair<Value, Value> MatrixFragment::createPosition(OpBuilder &builder,
                                                       Location loc,
                                                       Value inWarp,
                                                       int64_t element) const {
  auto add = [&](Value first, int64_t distance) -> Value {
    if (distance == 0)
      return first;
    return arith::AddIOp::create(
        builder, loc, first,
        arith::ConstantIndexOp::create(builder, loc, distance));
  };
  auto [row, column] = getOffset(element);
  return {add(createFirst(builder, loc, inWarp, 0), row),
          add(createFirst(builder, loc, inWarp, 1), column)};
}

SmallVector<Value> MatrixFragment::sortWords(ArrayRef<Value> words,
                                             unsigned depth) const {
  int64_t perBlock = getExtentPerThread(depth) / perWord;
  SmallVector<Value> sorted;
  for (int64_t element = 0; element < getNumElements(); element += perWord) {
    auto [row, column] = getOffset(element);
    int64_t along = depth == 0 ? row : column;
    int64_t across = depth == 0 ? column : row;
    int64_t inOwn = along / getBlockExtent(depth) * getConsecutive(depth) +
                    along % getBlockExtent(depth);
    sorted.push_back(
        words[across / getBlockExtent(1 - depth) * perBlock + inOwn / perWord]);
  }
  return sorted;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Type ark::getAccumulatorType(MmaAttr mma) {
  MLIRContext *context = mma.getContext();
  return mma.getOperands() == MmaOperands::Int8
             ? Type(IntegerType::get(context, 32))
             : Type(Float32Type::get(context));
}

/// Returns the words in the form of a type: i32 or vectors of two elements.
static SmallVector<Value> convertWords(ImplicitLocOpBuilder &builder,
                                       ValueRange words, Type type) {
  SmallVector<Value> converted(words);
  for (Value &word : converted)
    if (word.getType() != type)
      word = LLVM::BitcastOp::create(builder, type, word);
  return converted;
}

static LLVM::LLVMStructType getStruct(Type element, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(element.getContext(),
                                          SmallVector<Type>(count, element));
}

namespace {
/// `mma.sync` of NVIDIA.
class MmaSync : public MatrixInstruction {
public:
  using MatrixInstruction::MatrixInstruction;
  using MatrixInstruction::multiply;

  SmallVector<Value> multiply(ImplicitLocOpBuilder &builder, Type element,
                              ValueRange lhs, ValueRange rhs,
                              ValueRange accumulators,
                              Transposition transposed) const override {
    bool isInteger = element.isInteger();
    auto type = isInteger         ? NVVM::MMATypes::s8
                : element.isF16() ? NVVM::MMATypes::f16
                                  : NVVM::MMATypes::bf16;
    Type operand = element.isF16() ? Type(VectorType::get({2}, element))
                                   : builder.getI32Type();
    auto convert = [&](ValueRange words) {
      return convertWords(builder, words, operand);
    };
    auto mma = NVVM::MmaOp::create(
        builder, getStruct(getAccumulatorType(), accumulators.size()),
        convert(lhs), convert(rhs), accumulators,
        ArrayRef<int64_t>{getRows(), getColumns(), getDepth()},
        /*b1Op=*/std::nullopt,
        isInteger ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt,
        std::array{type, type},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> results;
    for (size_t i = 0; i < accumulators.size(); ++i)
      results.push_back(LLVM::ExtractValueOp::create(builder, mma.getRes(), i));
    return results;
  }
};

/// Returns the PTX of a `wgmma` whose left operand lies in registers, which
/// NVVM has no op for. `$n` are the accumulators, the words of the left
/// operand, and the descriptor of the right operand.
static std::string getRegisterWgmma(MmaAttr facts, Type element,
                                    int64_t columns, int64_t numAccumulators,
                                    int64_t numWords, bool transposed) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef type = element.isF16() ? "f16" : "bf16";
  int64_t next = 0;
  auto writeRegisters = [&](int64_t count) {
    os << "{";
    for (int64_t i = 0; i < count; ++i)
      os << (i ? ", $" : "$") << next++;
    os << "}, ";
  };
  os << "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
     << "wgmma.mma_async.sync.aligned.m" << facts.getM() << "n" << columns
     << "k" << facts.getK() << ".f32." << type << "." << type << " ";
  writeRegisters(numAccumulators);
  // The results precede the operands, and the accumulators are both.
  next = 2 * numAccumulators;
  writeRegisters(numWords);
  os << "$" << next << ", p, 1, 1, " << (transposed ? 1 : 0) << ";\n}\n";
  return text;
}

/// `wgmma` of NVIDIA. The number of accumulators gives the columns.
class Wgmma : public MatrixInstruction {
public:
  using MatrixInstruction::MatrixInstruction;
  using MatrixInstruction::multiply;

  SmallVector<Value> multiply(ImplicitLocOpBuilder &builder, Type element,
                              ValueRange lhs, ValueRange rhs,
                              ValueRange accumulators,
                              Transposition transposed) const override {
    Value accumulator = accumulators.front();
    int64_t count =
        cast<LLVM::LLVMStructType>(accumulator.getType()).getBody().size();
    int64_t columns = count / getNumAccumulators() * getColumns();
    if (lhs.size() > 1)
      return {multiplyRegisters(builder, element, lhs, rhs.front(), accumulator,
                                columns, transposed.rhs)};
    MLIRContext *context = builder.getContext();
    auto type = NVVM::WGMMATypesAttr::get(
        context,
        element.isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16);
    auto one = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
    auto getLayout = [&](NVVM::MMALayout layout) {
      return NVVM::MMALayoutAttr::get(context, layout);
    };
    return {
        NVVM::WgmmaMmaAsyncOp::create(
            builder, accumulator.getType(), accumulator, lhs.front(),
            rhs.front(),
            NVVM::MMAShapeAttr::get(context, getRows(), columns, getDepth()),
            type, type,
            NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
            NVVM::WGMMAScaleOutAttr::get(context, NVVM::WGMMAScaleOut::one),
            one, one,
            getLayout(transposed.lhs ? NVVM::MMALayout::col
                                     : NVVM::MMALayout::row),
            getLayout(transposed.rhs ? NVVM::MMALayout::row
                                     : NVVM::MMALayout::col),
            /*satfinite=*/NVVM::MMAIntOverflowAttr())
            .getResults()};
  }

private:
  Value multiplyRegisters(ImplicitLocOpBuilder &builder, Type element,
                          ValueRange words, Value rhs, Value accumulator,
                          int64_t columns, bool transposed) const {
    auto type = cast<LLVM::LLVMStructType>(accumulator.getType());
    int64_t count = type.getBody().size();
    SmallVector<Value> operands;
    std::string constraints;
    for (int64_t i = 0; i < count; ++i)
      constraints += "=f,";
    for (int64_t i = 0; i < count; ++i) {
      operands.push_back(LLVM::ExtractValueOp::create(builder, accumulator, i));
      constraints += std::to_string(i) + ",";
    }
    for (Value word : convertWords(builder, words, builder.getI32Type())) {
      operands.push_back(word);
      constraints += "r,";
    }
    operands.push_back(rhs);
    constraints += "l";
    std::string text = getRegisterWgmma(getFacts(), element, columns, count,
                                        words.size(), transposed);
    return LLVM::InlineAsmOp::create(
               builder, type, operands, text, constraints,
               /*has_side_effects=*/true, /*is_align_stack=*/false,
               LLVM::TailCallKind::None,
               LLVM::AsmDialectAttr::get(builder.getContext(),
                                         LLVM::AsmDialect::AD_ATT),
               /*operand_attrs=*/ArrayAttr())
        .getResult(0);
  }
};

/// `v_mfma` of AMD.
class Mfma : public MatrixInstruction {
public:
  using MatrixInstruction::MatrixInstruction;
  using MatrixInstruction::multiply;

  SmallVector<Value> multiply(ImplicitLocOpBuilder &builder, Type element,
                              ValueRange lhs, ValueRange rhs,
                              ValueRange accumulators,
                              Transposition transposed) const override {
    auto type = VectorType::get({static_cast<int64_t>(accumulators.size())},
                                getAccumulatorType());
    Value accumulator =
        vector::FromElementsOp::create(builder, type, accumulators);
    Value a = join(builder, element, lhs), b = join(builder, element, rhs);
    // Operands are neither broadcast nor permuted.
    Value none = LLVM::ConstantOp::create(builder, builder.getI32Type(),
                                          builder.getI32IntegerAttr(0));
    SmallVector<Value> operands = {a, b, accumulator, none, none, none};
    Value made = create(builder, element, type, operands);
    SmallVector<Value> results;
    for (size_t i = 0; i < accumulators.size(); ++i)
      results.push_back(vector::ExtractOp::create(builder, made, i));
    return results;
  }

private:
  /// Returns the words of an operand in the form of the instruction: a vector
  /// of floats of 16 bits, or one integer, or a vector of them.
  Value join(ImplicitLocOpBuilder &builder, Type element,
             ValueRange words) const {
    auto count = static_cast<int64_t>(words.size());
    Value all = vector::FromElementsOp::create(
        builder, VectorType::get({count}, builder.getI32Type()),
        convertWords(builder, words, builder.getI32Type()));
    if (getFacts().getOperandBits() == 16) {
      // Operands of bf16 are vectors of i16, except in the deeper
      // instructions.
      Type operand =
          element.isF16() || isDeep() ? element : builder.getI16Type();
      return vector::BitCastOp::create(
          builder, VectorType::get({2 * count}, operand), all);
    }
    // Four words are a vector, fewer words one integer.
    if (count > 2)
      return all;
    return LLVM::BitcastOp::create(builder, builder.getIntegerType(32 * count),
                                   all);
  }

  /// Returns true for the instructions of gfx950 with twice the depth.
  bool isDeep() const { return getLhs().getNumWords() == 4; }

  /// Creates the instruction of this shape.
  Value create(ImplicitLocOpBuilder &builder, Type element, Type type,
               ValueRange operands) const {
    switch (getFacts().getOperands()) {
    case MmaOperands::Float16:
      return createFloat16(builder, element.isF16(), type, operands);
    case MmaOperands::Float8:
      return createFloat8(builder, isa<Float8E4M3FNType>(element), type,
                          operands);
    case MmaOperands::Int8:
      return createInt8(builder, type, operands);
    }
    llvm_unreachable("not a kind of operands");
  }

  template <typename First, typename Second>
  static Value select(ImplicitLocOpBuilder &builder, bool isFirst, Type type,
                      ValueRange operands) {
    return isFirst ? First::create(builder, type, operands).getRes()
                   : Second::create(builder, type, operands).getRes();
  }

  Value createFloat16(ImplicitLocOpBuilder &builder, bool isF16, Type type,
                      ValueRange operands) const {
    using namespace ROCDL;
    if (getRows() == 32)
      return isDeep() ? select<mfma_f32_32x32x16_f16, mfma_f32_32x32x16_bf16>(
                            builder, isF16, type, operands)
                      : select<mfma_f32_32x32x8f16, mfma_f32_32x32x8bf16_1k>(
                            builder, isF16, type, operands);
    return isDeep() ? select<mfma_f32_16x16x32_f16, mfma_f32_16x16x32_bf16>(
                          builder, isF16, type, operands)
                    : select<mfma_f32_16x16x16f16, mfma_f32_16x16x16bf16_1k>(
                          builder, isF16, type, operands);
  }

  /// AMD calls E4M3 fp8, and E5M2 bf8.
  Value createFloat8(ImplicitLocOpBuilder &builder, bool isE4M3, Type type,
                     ValueRange operands) const {
    using namespace ROCDL;
    return getRows() == 32
               ? select<mfma_f32_32x32x16_fp8_fp8, mfma_f32_32x32x16_bf8_bf8>(
                     builder, isE4M3, type, operands)
               : select<mfma_f32_16x16x32_fp8_fp8, mfma_f32_16x16x32_bf8_bf8>(
                     builder, isE4M3, type, operands);
  }

  Value createInt8(ImplicitLocOpBuilder &builder, Type type,
                   ValueRange operands) const {
    using namespace ROCDL;
    bool isLarge = getRows() == 32;
    switch (getLhs().getNumWords()) {
    case 1:
      return select<mfma_i32_32x32x8i8, mfma_i32_16x16x16i8>(builder, isLarge,
                                                             type, operands);
    case 2:
      return select<mfma_i32_32x32x16_i8, mfma_i32_16x16x32_i8>(
          builder, isLarge, type, operands);
    default:
      return select<mfma_i32_32x32x32_i8, mfma_i32_16x16x64_i8>(
          builder, isLarge, type, operands);
    }
  }
};
} // namespace

std::unique_ptr<MatrixInstruction> MatrixInstruction::create(MmaAttr facts) {
  switch (facts.getKind()) {
  case MmaKind::MmaSync:
    return std::make_unique<MmaSync>(facts);
  case MmaKind::Wgmma:
    return std::make_unique<Wgmma>(facts);
  case MmaKind::Mfma:
    return std::make_unique<Mfma>(facts);
  case MmaKind::Other:
    return nullptr;
  }
  llvm_unreachable("not a kind of matrix instructions");
}

static TargetAttr getTarget(ModuleOp module) {
  return module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
}

/// Returns the instruction if ark has a lowering for it, otherwise null.
static MmaAttr getIfLowered(MmaAttr mma) {
  return mma && MatrixInstruction::create(mma) ? mma : MmaAttr();
}

MmaAttr ark::findRegisterMma(ModuleOp module) {
  TargetAttr target = getTarget(module);
  return target && target.isGpu()
             ? getIfLowered(target.getGpu().findRegisterMma())
             : MmaAttr();
}

SmallVector<MmaAttr> ark::findRegisterMmas(ModuleOp module) {
  SmallVector<MmaAttr> found = findAllRegisterMmas(module);
  llvm::erase_if(found, [](MmaAttr mma) {
    return mma.getOperands() != MmaOperands::Float16;
  });
  return found;
}

SmallVector<MmaAttr> ark::findAllRegisterMmas(ModuleOp module) {
  SmallVector<MmaAttr> found;
  TargetAttr target = getTarget(module);
  if (!target || !target.isGpu())
    return found;
  for (MmaAttr mma : target.getGpu().getMma())
    if (mma.readsRegisters() && getIfLowered(mma))
      found.push_back(mma);
  return found;
}

MmaAttr ark::findSharedMemoryMma(ModuleOp module) {
  TargetAttr target = getTarget(module);
  return target && target.isGpu()
             ? getIfLowered(target.getGpu().findSharedMemoryMma())
             : MmaAttr();
}
