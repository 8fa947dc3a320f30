//===- TestMatrixInstructions.cpp - Products of single warps --------------===//

#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/support/MappedLoop.h"
#include "tests/lib/TestPasses.h"

#include "dialects/ark/ArkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// A toy instruction
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kToyFunction = "toy_multiply";

namespace {
/// The instruction of a toy GPU: a call of a function that takes and returns
/// the elements of a thread.
class ToyInstruction : public MatrixInstruction {
public:
  ToyInstruction(MmaAttr facts, ModuleOp module)
      : MatrixInstruction(facts), module(module) {}

  SmallVector<Value> multiply(ImplicitLocOpBuilder &builder, Type element,
                              ValueRange lhs, ValueRange rhs, ValueRange sums,
                              Transposition) const override {
    SmallVector<Value> operands(lhs);
    llvm::append_range(operands, rhs);
    llvm::append_range(operands, sums);
    FunctionType type = builder.getFunctionType(ValueRange(operands).getTypes(),
                                                sums.getTypes());
    declare(type);
    return func::CallOp::create(builder, kToyFunction, type.getResults(),
                                operands)
        .getResults();
  }

private:
  void declare(FunctionType type) const {
    ModuleOp parent = module;
    if (parent.lookupSymbol(kToyFunction))
      return;
    auto builder = OpBuilder::atBlockBegin(parent.getBody());
    func::FuncOp::create(builder, parent.getLoc(), kToyFunction, type)
        .setPrivate();
  }

  ModuleOp module;
};
} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// out += left * right on buffers, whose extents are multiples of those of the
/// instruction. The rows of the right operand lie along N or, if it is
/// transposed, along K.
struct Product {
  static std::optional<Product> match(linalg::LinalgOp op,
                                      const MatrixInstruction &instruction);

  int64_t getExtent(Value buffer, unsigned dim) const {
    return cast<MemRefType>(buffer.getType()).getDimSize(dim);
  }

  linalg::LinalgOp op;
  Value left, right, out;
  bool isTransposed;
};

/// Builds the share of a thread in a product.
class ThreadBuilder {
public:
  ThreadBuilder(ImplicitLocOpBuilder &builder, const Product &product,
                const MatrixInstruction &instruction, Value inWarp)
      : builder(builder), product(product), instruction(instruction),
        inWarp(inWarp) {}

  /// Builds the share in all tiles.
  void buildTiles();
  /// Builds the share in every `warps`-th tile from `warp` on.
  void buildTilesOfWarp(Value warp, int64_t warps);

private:
  /// The elements of a fragment in a tile of a buffer.
  using Positions = SmallVector<std::pair<Value, Value>>;

  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(builder, number);
  }
  Positions findPositions(MatrixFragment fragment, Value row, Value column);
  Value load(Value buffer, Value row, Value column);
  SmallVector<Value> loadWords(Value buffer, const Positions &positions,
                               bool isTransposed);
  void buildTile(Value row, Value column);

  ImplicitLocOpBuilder &builder;
  const Product &product;
  const MatrixInstruction &instruction;
  Value inWarp;
};
} // namespace

std::optional<Product> Product::match(linalg::LinalgOp op,
                                      const MatrixInstruction &instruction) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() != 3 ||
      !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  AffineMap all = AffineMap::getMultiDimIdentityMap(3, op.getContext());
  auto getMaps = [&](ArrayRef<unsigned> right) -> SmallVector<AffineMap> {
    return {all.getSubMap({0, 2}), all.getSubMap(right), all.getSubMap({0, 1})};
  };
  bool isTransposed = op.getIndexingMapsArray() == getMaps({1, 2});
  if (!isTransposed && op.getIndexingMapsArray() != getMaps({2, 1}))
    return std::nullopt;
  Product product{op, op->getOperand(0), op->getOperand(1), op->getOperand(2),
                  isTransposed};
  auto isMultiple = [&](Value buffer, unsigned dim, int64_t unit) {
    int64_t extent = product.getExtent(buffer, dim);
    return !ShapedType::isDynamic(extent) && extent % unit == 0;
  };
  bool fits = isMultiple(product.out, 0, instruction.getRows()) &&
              isMultiple(product.out, 1, instruction.getColumns()) &&
              isMultiple(product.left, 1, instruction.getDepth());
  return fits ? std::optional(product) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The share of a thread
//===----------------------------------------------------------------------===//

ThreadBuilder::Positions ThreadBuilder::findPositions(MatrixFragment fragment,
                                                      Value row, Value column) {
  Positions positions;
  for (int64_t element = 0; element < fragment.getNumElements(); ++element) {
    auto [down, across] =
        fragment.createPosition(builder, builder.getLoc(), inWarp, element);
    positions.push_back({arith::AddIOp::create(builder, down, row),
                         arith::AddIOp::create(builder, across, column)});
  }
  return positions;
}

Value ThreadBuilder::load(Value buffer, Value row, Value column) {
  return memref::LoadOp::create(builder, buffer, ValueRange{row, column});
}

/// Joins the elements of a fragment to words.
SmallVector<Value> ThreadBuilder::loadWords(Value buffer,
                                            const Positions &positions,
                                            bool isTransposed) {
  auto perWord = static_cast<size_t>(instruction.getLhs().getElementsPerWord());
  auto type = VectorType::get({static_cast<int64_t>(perWord)},
                              getElementTypeOrSelf(buffer));
  SmallVector<Value> words, elements;
  for (auto [row, column] : positions) {
    elements.push_back(isTransposed ? load(buffer, column, row)
                                    : load(buffer, row, column));
    if (elements.size() < perWord)
      continue;
    words.push_back(vector::FromElementsOp::create(builder, type, elements));
    elements.clear();
  }
  return words;
}

void ThreadBuilder::buildTile(Value row, Value column) {
  Positions own = findPositions(instruction.getAcc(), row, column);
  SmallVector<Value> sums;
  for (auto [down, across] : own)
    sums.push_back(load(product.out, down, across));
  int64_t depth = product.getExtent(product.left, 1);
  for (int64_t k = 0; k < depth; k += instruction.getDepth()) {
    SmallVector<Value> lhs = loadWords(
        product.left, findPositions(instruction.getLhs(), row, index(k)),
        /*isTransposed=*/false);
    SmallVector<Value> rhs = loadWords(
        product.right, findPositions(instruction.getRhs(), index(k), column),
        product.isTransposed);
    sums = instruction.multiply(builder, getElementTypeOrSelf(product.left),
                                lhs, rhs, sums);
  }
  for (auto [position, sum] : llvm::zip(own, sums))
    memref::StoreOp::create(builder, sum, product.out,
                            ValueRange{position.first, position.second});
}

void ThreadBuilder::buildTiles() {
  int64_t rows = product.getExtent(product.out, 0);
  int64_t columns = product.getExtent(product.out, 1);
  for (int64_t row = 0; row < rows; row += instruction.getRows())
    for (int64_t column = 0; column < columns;
         column += instruction.getColumns())
      buildTile(index(row), index(column));
}

void ThreadBuilder::buildTilesOfWarp(Value warp, int64_t warps) {
  int64_t down = product.getExtent(product.out, 0) / instruction.getRows();
  int64_t across = product.getExtent(product.out, 1) / instruction.getColumns();
  auto loop =
      scf::ForOp::create(builder, warp, index(down * across), index(warps));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  Value row = arith::DivUIOp::create(builder, tile, index(across));
  Value column = arith::RemUIOp::create(builder, tile, index(across));
  buildTile(
      arith::MulIOp::create(builder, row, index(instruction.getRows())),
      arith::MulIOp::create(builder, column, index(instruction.getColumns())));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Replaces products on buffers by the target's first instruction whose
/// operands have fragments. With `threads`, all warps of a CTA share the tiles.
/// Without `threads`, the code is that of one thread of a warp, whose number is
/// the last argument of the function. Instructions of the kind `other` are
/// those of the toy GPU.
struct TestMatrixInstructionsPass
    : public PassWrapper<TestMatrixInstructionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMatrixInstructionsPass)

  TestMatrixInstructionsPass() = default;
  explicit TestMatrixInstructionsPass(int64_t threads) {
    this->threads = threads;
  }
  TestMatrixInstructionsPass(const TestMatrixInstructionsPass &other)
      : PassWrapper(other) {}

  StringRef getArgument() const final { return "ark-test-matrix-instructions"; }
  StringRef getDescription() const final {
    return "Lower matrix products to the instruction of a warp";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                NVVM::NVVMDialect, ROCDL::ROCDLDialect, memref::MemRefDialect,
                scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    std::unique_ptr<MatrixInstruction> instruction = findInstruction();
    if (!instruction) {
      getOperation().emitError("has no target with an instruction that takes "
                               "fragments");
      return signalPassFailure();
    }
    SmallVector<Product> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (auto product = Product::match(op, *instruction))
        products.push_back(*product);
    });
    for (const Product &product : products) {
      build(product, *instruction);
      product.op->erase();
    }
  }

private:
  std::unique_ptr<MatrixInstruction> findInstruction() {
    auto target =
        getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    if (!target || !target.isGpu())
      return nullptr;
    for (MmaAttr mma : target.getGpu().getMma())
      if (mma.getLhs())
        return mma.getKind() == MmaKind::Other
                   ? std::make_unique<ToyInstruction>(mma, getOperation())
                   : MatrixInstruction::create(mma);
    return nullptr;
  }

  void build(const Product &product, const MatrixInstruction &instruction) {
    linalg::LinalgOp op = product.op;
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    if (threads == 0) {
      Value inWarp = op->getParentOfType<func::FuncOp>().getArguments().back();
      return ThreadBuilder(builder, product, instruction, inWarp).buildTiles();
    }
    Value thread = createMappedLoop(builder, threads);
    Value size =
        arith::ConstantIndexOp::create(builder, instruction.getWarpSize());
    Value warp = arith::DivUIOp::create(builder, thread, size);
    Value inWarp = arith::RemUIOp::create(builder, thread, size);
    ThreadBuilder(builder, product, instruction, inWarp)
        .buildTilesOfWarp(warp, threads / instruction.getWarpSize());
  }

  Option<int64_t> threads{*this, "threads", llvm::cl::init(0),
                          llvm::cl::desc("Threads of a CTA")};
};
} // namespace

std::unique_ptr<Pass>
mlir::ark::createTestMatrixInstructionsPass(int64_t threads) {
  return std::make_unique<TestMatrixInstructionsPass>(threads);
}

void mlir::ark::registerTestMatrixInstructionsPass() {
  PassRegistration<TestMatrixInstructionsPass>();
}
