//===- ProductEpilogue.cpp - Elementwise ops on accumulators --------------===//

#include "passes/target/matmul/ProductEpilogue.h"

#include "passes/target/matmul/ProductLifetime.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/support/Aliasing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Returns true if each index of an operand is a loop index or a constant.
static bool isSimple(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr result) {
    return isa<AffineDimExpr, AffineConstantExpr>(result);
  });
}

/// Returns true for an op on the elements (m, n) of all outputs.
static bool isElementwise(linalg::LinalgOp op) {
  if (op.getNumLoops() != 2 || op.getNumParallelLoops() != 2 ||
      !op.hasPureBufferSemantics() ||
      !op.getBlock()->getOps<linalg::IndexOp>().empty())
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return isa<MemRefType>(operand.get().getType()) &&
           (op.isDpsInit(&operand) ? map.isIdentity() : isSimple(map));
  });
}

/// Adds an elementwise op that uses an element of a temporary. Returns false if
/// an element would depend on other elements.
bool ProductEpilogue::add(linalg::LinalgOp op) {
  if (!isElementwise(op))
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (isLocal(input->get()) && !op.getMatchingIndexingMap(input).isIdentity())
      return false;
  for (Value output : op.getDpsInits())
    if (!isLocal(output) && getTemporary(output))
      locals.push_back(output);
  ops.push_back(op);
  return true;
}

/// Adds the ops after the product that use temporaries. Ops between them may
/// only create values.
bool ProductEpilogue::addOps(const MatmulTile &product) {
  Operation *op = this->product;
  SmallVector<Operation *> others;
  while ((op = op->getNextNode())) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (structured && llvm::any_of(op->getOperands(), [&](Value operand) {
          return isLocal(operand);
        })) {
      if (!others.empty() || !add(structured))
        return false;
    } else if (!isMemoryEffectFree(op)) {
      others.push_back(op);
    }
  }
  return !ops.empty();
}

/// Finds the op that zeroes the product's temporary.
bool ProductEpilogue::findFill() {
  Value out = locals.front();
  for (Operation *user : out.getUsers()) {
    auto generic = dyn_cast<linalg::GenericOp>(user);
    std::optional<Value> value =
        generic ? linalg::isaFillOpInterface(generic) : std::nullopt;
    if (value && isZero(*value) && !fill &&
        user->getBlock() == product->getBlock() &&
        user->isBeforeInBlock(product))
      fill = generic;
  }
  return static_cast<bool>(fill);
}

bool ProductEpilogue::haveOnlyKnownUsers() {
  return llvm::all_of(locals, [&](Value local) {
    return llvm::all_of(local.getUsers(), [&](Operation *user) {
      return user == product.getOperation() || user == fill.getOperation() ||
             llvm::is_contained(ops, user);
    });
  });
}

/// Returns true if an op writes memory that another one or the product reads at
/// other elements.
static bool haveConflict(ArrayRef<linalg::LinalgOp> ops,
                         const MatmulTile &product,
                         function_ref<bool(Value)> isLocal) {
  SmallVector<Value> outputs, inputs = {product.left, product.right};
  for (linalg::LinalgOp op : ops) {
    for (Value output : op.getDpsInits())
      if (!isLocal(output))
        outputs.push_back(output);
    for (OpOperand *input : op.getDpsInputOperands()) {
      bool isOwn = llvm::is_contained(op.getDpsInits(), input->get()) &&
                   op.getMatchingIndexingMap(input).isIdentity();
      if (!isLocal(input->get()) && !isOwn)
        inputs.push_back(input->get());
    }
  }
  return llvm::any_of(outputs, [&](Value output) {
    return llvm::any_of(inputs,
                        [&](Value input) { return mayAlias(output, input); });
  });
}

std::optional<ProductEpilogue>
ProductEpilogue::match(const MatmulTile &product) {
  if (!getTemporary(product.out))
    return std::nullopt;
  ProductEpilogue epilogue(product);
  if (!epilogue.addOps(product) || !epilogue.findFill() ||
      !epilogue.haveOnlyKnownUsers() ||
      haveConflict(epilogue.ops, product,
                   [&](Value buffer) { return epilogue.isLocal(buffer); }))
    return std::nullopt;
  return epilogue;
}

int64_t ProductEpilogue::getReplacedBytes() const {
  int64_t bytes = 0;
  for (Value local : locals)
    bytes += getSharedBytes(getTemporary(local));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

/// Returns the indices of an operand for element (m, n).
static SmallVector<Value> getIndices(ImplicitLocOpBuilder &builder,
                                     AffineMap map, Value m, Value n) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr result) -> Value {
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      return dim.getPosition() == 0 ? m : n;
    return arith::ConstantIndexOp::create(
        builder, cast<AffineConstantExpr>(result).getValue());
  });
}

void ProductEpilogue::apply(ImplicitLocOpBuilder &builder, Value m, Value n,
                            Value accumulator) const {
  llvm::SmallDenseMap<Value, Value> elements;
  elements[locals.front()] = accumulator;
  for (linalg::LinalgOp op : ops) {
    Block *block = op.getBlock();
    IRMapping mapping;
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (argument.use_empty())
        continue;
      Value element = elements.lookup(operand.get());
      if (!element)
        element = memref::LoadOp::create(
            builder, operand.get(),
            getIndices(builder, op.getMatchingIndexingMap(&operand), m, n));
      mapping.map(argument, element);
    }
    for (Operation &inner : block->without_terminator())
      builder.clone(inner, mapping);
    for (auto [output, result] :
         llvm::zip(op.getDpsInits(), block->getTerminator()->getOperands())) {
      Value element = mapping.lookupOrDefault(result);
      if (isLocal(output))
        elements[output] = element;
      else
        memref::StoreOp::create(builder, element, output, ValueRange{m, n});
    }
  }
}

void ProductEpilogue::erase() {
  SmallVector<Operation *> views;
  SmallVector<memref::AllocaOp> temporaries;
  for (Value local : locals) {
    temporaries.push_back(getTemporary(local));
    if (local != temporaries.back())
      views.push_back(local.getDefiningOp());
  }
  for (linalg::LinalgOp op : llvm::reverse(ops))
    op->erase();
  product->erase();
  fill->erase();
  for (Operation *view : views)
    view->erase();
  for (memref::AllocaOp temporary : temporaries)
    temporary->erase();
}
