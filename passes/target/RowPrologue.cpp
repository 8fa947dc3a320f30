//===- RowPrologue.cpp - What makes rows before they are multiplied -------===//

#include "passes/target/RowPrologue.h"

#include "passes/kernel/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kWarpSize = 32;

bool ark::isAlignedArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto body = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!body)
    return false;
  auto align = body.getArgAttrOfType<IntegerAttr>(
      argument.getArgNumber(), LLVM::LLVMDialect::getAlignAttrName());
  return align && align.getInt() % abi::kGpuBufferAlignment == 0;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether an op computes with its operands and constants only.
static bool isPlain(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value input : op.getInputs())
    if (!isa<ShapedType>(input.getType()))
      captured.insert(input);
  return llvm::all_of(captured, isConstant) &&
         llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isMemoryEffectFree(&inner) &&
                               inner.getNumRegions() == 0 &&
                               !isa<linalg::IndexOp>(inner);
                      });
}

static int64_t getDim(Value buffer, int64_t dim) {
  return cast<MemRefType>(buffer.getType()).getDimSize(dim);
}

/// `number = f(number, ...)`, without the row.
static bool isNumberOp(linalg::GenericOp op) {
  return op.getNumLoops() == 1 && op.getNumParallelLoops() == 1;
}

/// `number += f(row, ...)`; gives the op that adds.
static Operation *getCombiner(linalg::GenericOp op) {
  if (op.getNumLoops() != 2 || op.getNumReductionLoops() != 1)
    return nullptr;
  Value out = op.getBlock()->getArguments().back();
  Value result = op.getBlock()->getTerminator()->getOperand(0);
  Operation *combiner = result.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 || !out.hasOneUse() ||
      *out.getUsers().begin() != combiner ||
      !arith::getNeutralElement(combiner))
    return nullptr;
  return combiner;
}

RowPrologue::RowPrologue(Value rows, ArrayRef<Operation *> users,
                         scf::ForOp vctas)
    : rows(rows) {
  if (match(users, vctas)) {
    llvm::sort(ops, [](linalg::GenericOp a, linalg::GenericOp b) {
      return a->isBeforeInBlock(b);
    });
    return;
  }
  ops.clear();
  inputs.assign({rows});
}

/// One number that all of a row share, for every row.
bool RowPrologue::isNumber(Value value) const {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.getRank() == 1 && type.getDimSize(0) == getDim(rows, 0) &&
         value.getDefiningOp<memref::AllocaOp>();
}

/// Rows of the body's arguments, or a row that is the same for all rows.
bool RowPrologue::addInput(Value input, AffineMap map) {
  auto type = dyn_cast<MemRefType>(input.getType());
  int64_t size = getDim(rows, 1);
  bool isAligned =
      isAlignedArgument(input) || input.getDefiningOp<memref::AllocaOp>();
  if (!type || !type.getLayout().isIdentity() || !isAligned ||
      !type.getElementType().isIntOrFloat())
    return false;
  AffineExpr column = getAffineDimExpr(1, map.getContext());
  bool isRow = type.getRank() == 2 && type.getDimSize(0) == getDim(rows, 0) &&
               type.getDimSize(1) == size && map.isIdentity();
  bool isShared = type.getRank() == 1 && type.getDimSize(0) == size &&
                  map.getNumResults() == 1 && map.getResult(0) == column;
  if (!isRow && !isShared)
    return false;
  if (!llvm::is_contained(inputs, input))
    inputs.push_back(input);
  return true;
}

/// All that writes a number, each once.
bool RowPrologue::matchNumber(Value number, scf::ForOp vctas) {
  for (Operation *user : number.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (op && (llvm::is_contained(ops, op) ||
               !llvm::is_contained(op.getDpsInits(), number)))
      continue;
    if (!op || !isPlain(op) || op->getBlock() != vctas->getBlock() ||
        !op->isBeforeInBlock(vctas) || (!isNumberOp(op) && !getCombiner(op)))
      return false;
    ops.push_back(op);
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value value = operand->get();
      if (!isa<ShapedType>(value.getType()))
        continue;
      // A reduction may subtract what another one gave.
      if (isNumberOp(op) ||
          (isNumber(value)
               ? !matchNumber(value, vctas)
               : !addInput(value, op.getMatchingIndexingMap(operand))))
        return false;
    }
  }
  return true;
}

bool RowPrologue::match(ArrayRef<Operation *> users, scf::ForOp vctas) {
  if (!rows.getDefiningOp<memref::AllocaOp>())
    return false;
  linalg::GenericOp maker;
  for (Operation *user : rows.getUsers()) {
    if (llvm::is_contained(users, user))
      continue;
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (maker || !op || !isPlain(op) || op.getDpsInits()[0] != rows)
      return false;
    maker = op;
  }
  if (!maker || maker->getBlock() != vctas->getBlock() ||
      !maker->isBeforeInBlock(vctas) || maker.getNumLoops() != 2 ||
      maker.getNumParallelLoops() != 2 ||
      !maker.getIndexingMapsArray().back().isIdentity())
    return false;
  ops.push_back(maker);
  for (OpOperand *operand : maker.getDpsInputOperands()) {
    Value value = operand->get();
    AffineMap map = maker.getMatchingIndexingMap(operand);
    if (isNumber(value)
            ? !matchNumber(value, vctas)
            : isa<ShapedType>(value.getType()) && !addInput(value, map))
      return false;
  }
  // Others do not read the numbers.
  return llvm::all_of(ops, [&](linalg::GenericOp op) {
    Value number = op.getDpsInits()[0];
    return number == rows || llvm::all_of(number.getUsers(), [&](auto *user) {
             return llvm::is_contained(ops, user);
           });
  });
}

void RowPrologue::erase() {
  SmallVector<Operation *> buffers;
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    if (auto buffer = op.getDpsInits()[0].getDefiningOp())
      if (!llvm::is_contained(buffers, buffer))
        buffers.push_back(buffer);
    op.erase();
  }
  for (Operation *buffer : buffers)
    if (buffer->use_empty())
      buffer->erase();
  ops.clear();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

int64_t RowShares::getStep() const { return kWarpSize * width; }

Value RowShares::getFirst(ImplicitLocOpBuilder &builder, Value part,
                          Value lane) const {
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(
        builder, value, arith::ConstantIndexOp::create(builder, factor));
  };
  return arith::AddIOp::create(builder, times(part, loads * getStep()),
                               times(lane, width));
}

namespace {
/// Computes the prologue of one row with the threads of one warp.
class RowBuilder {
public:
  RowBuilder(ImplicitLocOpBuilder &builder, ArrayRef<Value> inputs,
             ValueRange arguments, Value row, Value lane,
             const RowShares &shares)
      : builder(builder), row(row), lane(lane), shares(shares) {
    for (auto [input, argument] : llvm::zip(inputs, arguments))
      buffers[input] = argument;
  }

  /// Of an input, the loads of a part; those of one part are made once.
  ArrayRef<Value> load(Value input, Value part);
  void buildNumber(linalg::GenericOp op);
  void buildReduction(linalg::GenericOp op, ArrayRef<Value> parts);
  SmallVector<Value> buildRow(linalg::GenericOp op, Value part);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, value);
  }
  Value import(Value constant);
  Value inlineRegion(linalg::GenericOp op, ArrayRef<Value> values);
  SmallVector<Value> getElements(linalg::GenericOp op, Value part, int64_t load,
                                 int64_t element);
  Value combine(Operation *combiner, Value a, Value b);

  ImplicitLocOpBuilder &builder;
  Value row, lane;
  RowShares shares;
  llvm::DenseMap<Value, Value> buffers, numbers, constants;
  llvm::DenseMap<std::pair<Value, Value>, SmallVector<Value>> loaded;
};
} // namespace

ArrayRef<Value> RowBuilder::load(Value input, Value part) {
  SmallVector<Value> &values = loaded[{input, part}];
  if (!values.empty())
    return values;
  auto type = cast<MemRefType>(input.getType());
  Value first = shares.getFirst(builder, part, lane);
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> place(type.getRank() - 1, row);
    place.push_back(
        arith::AddIOp::create(builder, first, index(load * shares.getStep())));
    values.push_back(vector::LoadOp::create(
        builder, VectorType::get(shares.width, type.getElementType()),
        buffers.lookup(input), place, /*nontemporal=*/false,
        llvm::MaybeAlign(abi::kGpuBufferAlignment)));
  }
  return values;
}

/// The constant of another function.
Value RowBuilder::import(Value constant) {
  Value &imported = constants[constant];
  if (!imported)
    imported = builder.clone(*constant.getDefiningOp())->getResult(0);
  return imported;
}

Value RowBuilder::inlineRegion(linalg::GenericOp op, ArrayRef<Value> values) {
  IRMapping mapping;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value constant : captured)
    mapping.map(constant, import(constant));
  for (auto [argument, value] :
       llvm::zip(op.getBlock()->getArguments(), values))
    mapping.map(argument, value);
  for (Operation &inner : op.getBlock()->without_terminator())
    builder.clone(inner, mapping);
  return mapping.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

Value RowBuilder::combine(Operation *combiner, Value a, Value b) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  return builder.clone(*combiner, mapping)->getResult(0);
}

/// Of the inputs of an op.
SmallVector<Value> RowBuilder::getElements(linalg::GenericOp op, Value part,
                                           int64_t load, int64_t element) {
  SmallVector<Value> values;
  for (Value input : op.getInputs()) {
    if (!isa<ShapedType>(input.getType()))
      values.push_back(import(input));
    else if (Value number = numbers.lookup(input))
      values.push_back(number);
    else
      values.push_back(vector::ExtractOp::create(
          builder, this->load(input, part)[load], element));
  }
  return values;
}

void RowBuilder::buildNumber(linalg::GenericOp op) {
  Value out = op.getDpsInits()[0];
  SmallVector<Value> values;
  for (Value input : op.getInputs())
    values.push_back(import(input));
  Value before = numbers.lookup(out);
  if (!before) {
    // Nobody reads what a buffer holds at first.
    Type type = cast<MemRefType>(out.getType()).getElementType();
    before = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  }
  values.push_back(before);
  numbers[out] = inlineRegion(op, values);
}

void RowBuilder::buildReduction(linalg::GenericOp op, ArrayRef<Value> parts) {
  Operation *combiner = getCombiner(op);
  Value neutral =
      arith::ConstantOp::create(builder, *arith::getNeutralElement(combiner));
  // One for each load, so that they do not wait for each other.
  SmallVector<Value> results;
  for (Value part : parts)
    for (int64_t load = 0; load < shares.loads; ++load) {
      Value result = neutral;
      for (int64_t element = 0; element < shares.width; ++element) {
        SmallVector<Value> values = getElements(op, part, load, element);
        values.push_back(result);
        result = inlineRegion(op, values);
      }
      results.push_back(result);
    }
  Value result = results.front();
  for (Value other : ArrayRef(results).drop_front())
    result = combine(combiner, result, other);
  for (int32_t distance = kWarpSize / 2; distance > 0; distance /= 2)
    result = combine(combiner, result,
                     gpu::ShuffleOp::create(builder, result, distance,
                                            kWarpSize, gpu::ShuffleMode::XOR)
                         .getShuffleResult());
  Value &number = numbers[op.getDpsInits()[0]];
  number = number ? combine(combiner, number, result) : result;
}

SmallVector<Value> RowBuilder::buildRow(linalg::GenericOp op, Value part) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  SmallVector<Value> vectors;
  for (int64_t load = 0; load < shares.loads; ++load) {
    SmallVector<Value> elements;
    for (int64_t element = 0; element < shares.width; ++element) {
      SmallVector<Value> values = getElements(op, part, load, element);
      // An op that makes a row does not read it.
      values.push_back(arith::ConstantOp::create(
          builder, builder.getZeroAttr(type.getElementType())));
      elements.push_back(inlineRegion(op, values));
    }
    vectors.push_back(vector::FromElementsOp::create(
        builder, VectorType::get(shares.width, type.getElementType()),
        elements));
  }
  return vectors;
}

SmallVector<Value> RowPrologue::build(ImplicitLocOpBuilder &builder,
                                      ValueRange arguments, Value number,
                                      Value lane, Value part,
                                      const RowShares &shares) const {
  RowBuilder row(builder, inputs, arguments, number, lane, shares);
  // All loads first. Those of the own part serve the row, too.
  bool reduces = llvm::any_of(
      ops, [](linalg::GenericOp op) { return op.getNumReductionLoops() != 0; });
  SmallVector<Value> parts = {part};
  for (int64_t other = 1; reduces && other < shares.parts; ++other) {
    Value count = arith::ConstantIndexOp::create(builder, shares.parts);
    Value next = arith::AddIOp::create(
        builder, part, arith::ConstantIndexOp::create(builder, other));
    parts.push_back(arith::RemUIOp::create(builder, next, count));
  }
  for (Value input : inputs)
    (void)row.load(input, part);
  for (linalg::GenericOp op : ops)
    if (op.getNumReductionLoops() != 0)
      for (Value input : op.getInputs())
        for (Value other : parts)
          if (llvm::is_contained(inputs, input))
            (void)row.load(input, other);
  if (ops.empty())
    return SmallVector<Value>(row.load(inputs.front(), part));
  for (linalg::GenericOp op : ArrayRef(ops).drop_back()) {
    if (op.getNumReductionLoops() != 0)
      row.buildReduction(op, parts);
    else
      row.buildNumber(op);
  }
  return row.buildRow(ArrayRef(ops).back(), part);
}
