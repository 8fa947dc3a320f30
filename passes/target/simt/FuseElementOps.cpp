//===- FuseElementOps.cpp - Fuses ops by element of the result ------------===//

#include "passes/target/simt/Passes.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <map>
#include <set>

namespace mlir::ark {
#define GEN_PASS_DEF_FUSEELEMENTOPSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the terms of a reduction, which is unrolled into registers.
static constexpr int64_t kMaxTerms = 64;
/// Upper bound of the op bodies evaluated per element, which limits code size
/// and time.
static constexpr int64_t kMaxBodies = 256;

using linalg::GenericOp;

//===----------------------------------------------------------------------===//
// Layouts of views
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a temporary that a view selects. Dimensions of extent 1 are
/// left out.
struct Layout {
  Value root;
  int64_t offset = 0;
  /// The view's dimensions of extents above 1, with strides and extents.
  SmallVector<unsigned> dims;
  SmallVector<std::pair<int64_t, int64_t>> steps;

  static std::optional<Layout> get(Value view);
  bool isSame(const Layout &other) const {
    return root == other.root && offset == other.offset && steps == other.steps;
  }
};
} // namespace

std::optional<Layout> Layout::get(Value view) {
  auto type = dyn_cast<MemRefType>(view.getType());
  Layout layout;
  SmallVector<int64_t> strides;
  if (!type || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, layout.offset)) ||
      ShapedType::isDynamic(layout.offset))
    return std::nullopt;
  layout.root = getRoot(view);
  for (auto [dim, stride, extent] : llvm::enumerate(strides, type.getShape())) {
    if (extent == 1)
      continue;
    layout.dims.push_back(dim);
    layout.steps.emplace_back(stride, extent);
  }
  return layout;
}

static Value getOut(GenericOp op) { return op.getDpsInits()[0]; }

/// Returns true if an op computes each element from operand elements at
/// positions that are known at compile time.
static bool hasStaticPositions(GenericOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 &&
         !ShapedType::isDynamicShape(op.getStaticLoopRanges()) &&
         llvm::all_of(
             op.getBlock()->without_terminator(), [](Operation &inner) {
               return isMemoryEffectFree(&inner) && inner.getNumRegions() == 0;
             });
}

/// Returns the number of terms that an element of the result is reduced from.
static int64_t countTerms(GenericOp op) {
  int64_t terms = 1;
  for (auto [extent, kind] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      terms *= extent;
  return terms;
}

static bool readsOut(GenericOp op) {
  return !op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty();
}

/// Returns true if all ops that access a buffer, directly or through views, are
/// in `ops`.
static bool hasOnlyUsersIn(Value buffer, ArrayRef<GenericOp> ops) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return hasOnlyUsersIn(user->getResult(0), ops);
    auto op = dyn_cast<GenericOp>(user);
    return op && llvm::is_contained(ops, op);
  });
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {
/// Consecutive ops whose results can be computed element by element,
/// independently of each other.
class ElementChain {
public:
  static std::optional<ElementChain> match(ArrayRef<GenericOp> ops);

  ArrayRef<GenericOp> getOps() const { return ops; }
  ArrayRef<unsigned> getResults() const { return results; }
  GenericOp getOp(unsigned opIndex) const { return ops[opIndex]; }
  /// Returns the op of the chain that computes the elements that `reader` reads
  /// of a buffer, if there is one.
  std::optional<unsigned> getProducer(unsigned reader, Value buffer) const;
  /// Returns the parallel loops of `producer`, each with the dimension of the
  /// view of its output that the loop runs along. A loop with one iteration has
  /// no dimension.
  SmallVector<std::pair<unsigned, std::optional<unsigned>>>
  getLoopsOf(unsigned producer, Value view) const;

private:
  bool haveEqualExtents();
  bool hasMatchingLayouts();
  bool isIndependent();

  SmallVector<GenericOp> ops;
  /// Indices of the ops whose outputs ops outside of the chain read.
  SmallVector<unsigned> results;
};
} // namespace

std::optional<unsigned> ElementChain::getProducer(unsigned reader,
                                                  Value buffer) const {
  Value root = getRoot(buffer);
  for (unsigned opIndex = reader; opIndex-- > 0;)
    if (getRoot(getOut(ops[opIndex])) == root)
      return opIndex;
  return std::nullopt;
}

SmallVector<std::pair<unsigned, std::optional<unsigned>>>
ElementChain::getLoopsOf(unsigned producer, Value view) const {
  GenericOp op = ops[producer];
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  Layout own = *Layout::get(view), made = *Layout::get(getOut(op));
  SmallVector<std::pair<unsigned, std::optional<unsigned>>> loops;
  for (auto [dim, result] : llvm::enumerate(map.getResults())) {
    auto *position = llvm::find(made.dims, dim);
    loops.emplace_back(
        cast<AffineDimExpr>(result).getPosition(),
        position == made.dims.end()
            ? std::nullopt
            : std::optional(own.dims[position - made.dims.begin()]));
  }
  return loops;
}

/// Returns true if the results are elementwise over equal extents, which become
/// the extents of the loop.
bool ElementChain::haveEqualExtents() {
  for (unsigned opIndex : results) {
    GenericOp op = ops[opIndex];
    if (op.getNumReductionLoops() != 0 ||
        op.getStaticLoopRanges() != ops[results[0]].getStaticLoopRanges() ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return false;
  }
  return !results.empty();
}

/// Returns true if ops read outputs of other ops in the layout in which the
/// outputs were written.
bool ElementChain::hasMatchingLayouts() {
  for (auto [opIndex, op] : llvm::enumerate(ops)) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    if (!map.isProjectedPermutation())
      return false;
    for (OpOperand &operand : op->getOpOperands()) {
      bool isRead = !op.getMatchingBlockArgument(&operand).use_empty();
      if (!isRead || !isa<MemRefType>(operand.get().getType()))
        continue;
      std::optional<unsigned> producer = getProducer(opIndex, operand.get());
      if (!producer)
        continue;
      std::optional<Layout> own = Layout::get(operand.get()),
                            made = Layout::get(getOut(ops[*producer]));
      if (!own || !made || !own->isSame(*made))
        return false;
    }
  }
  return true;
}

/// Returns true if no element depends on memory that the loop writes.
bool ElementChain::isIndependent() {
  for (auto [opIndex, op] : llvm::enumerate(ops))
    for (OpOperand &operand : op->getOpOperands()) {
      bool isRead = !op.getMatchingBlockArgument(&operand).use_empty();
      if (!isRead || !isa<MemRefType>(operand.get().getType()) ||
          getProducer(opIndex, operand.get()))
        continue;
      if (llvm::any_of(results, [&](unsigned result) {
            return mayAlias(operand.get(), getOut(ops[result]));
          }))
        return false;
    }
  return true;
}

std::optional<ElementChain> ElementChain::match(ArrayRef<GenericOp> ops) {
  ElementChain chain;
  chain.ops.assign(ops.begin(), ops.end());
  int64_t terms = 0;
  for (auto [opIndex, op] : llvm::enumerate(ops)) {
    int64_t own = countTerms(op);
    if (own > kMaxTerms)
      return std::nullopt;
    terms = std::max(terms, own);
    Value root = getRoot(getOut(op));
    if (!root.getDefiningOp<memref::AllocaOp>() || !hasOnlyUsersIn(root, ops))
      chain.results.push_back(opIndex);
  }
  bool isChain = terms > 1 && chain.haveEqualExtents() &&
                 chain.hasMatchingLayouts() && chain.isIndependent();
  return isChain ? std::optional(chain) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Cost of an element
//===----------------------------------------------------------------------===//

namespace {
/// Counts the op bodies that are evaluated for the first element.
class BodyCounter {
public:
  explicit BodyCounter(const ElementChain &chain) : chain(chain) {}

  bool isCheap();

private:
  void visit(unsigned opIndex, SmallVector<int64_t> loops);
  void visitOperands(unsigned opIndex, ArrayRef<int64_t> loops);
  bool isOver() const { return bodies > kMaxBodies; }

  const ElementChain &chain;
  std::set<std::pair<unsigned, SmallVector<int64_t>>> known;
  int64_t bodies = 0;
};
} // namespace

void BodyCounter::visitOperands(unsigned opIndex, ArrayRef<int64_t> loops) {
  GenericOp op = chain.getOp(opIndex);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isRead = !op.getMatchingBlockArgument(&operand).use_empty();
    std::optional<unsigned> producer =
        chain.getProducer(opIndex, operand.get());
    if (!isRead || !producer || !isa<MemRefType>(operand.get().getType()))
      continue;
    SmallVector<int64_t> element =
        op.getMatchingIndexingMap(&operand).compose(loops);
    SmallVector<int64_t> of(chain.getOp(*producer).getNumLoops());
    for (auto [loop, dim] : chain.getLoopsOf(*producer, operand.get()))
      of[loop] = dim ? element[*dim] : 0;
    visit(*producer, std::move(of));
  }
}

void BodyCounter::visit(unsigned opIndex, SmallVector<int64_t> loops) {
  if (isOver() || !known.insert({opIndex, loops}).second)
    return;
  GenericOp op = chain.getOp(opIndex);
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (int64_t term = 0; term < countTerms(op); ++term) {
    ++bodies;
    int64_t rest = term;
    for (unsigned dim : llvm::reverse(reduced)) {
      loops[dim] = rest % extents[dim];
      rest /= extents[dim];
    }
    visitOperands(opIndex, loops);
  }
}

bool BodyCounter::isCheap() {
  for (unsigned opIndex : chain.getResults())
    visit(opIndex, SmallVector<int64_t>(chain.getOp(opIndex).getNumLoops()));
  return !isOver();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Builds elements of a chain, each element once.
class ElementBuilder {
public:
  ElementBuilder(ImplicitLocOpBuilder &builder, const ElementChain &chain)
      : builder(builder), chain(chain) {}

  void build();

private:
  using Indices = SmallVector<OpFoldResult>;

  Value evaluate(unsigned opIndex, Indices parallel);
  Value read(unsigned opIndex, OpOperand &operand,
             ArrayRef<OpFoldResult> loops);
  Value inlineBody(unsigned opIndex, ArrayRef<OpFoldResult> loops,
                   Value accumulator);
  Indices getLoopsOf(unsigned producer, Value view,
                     ArrayRef<OpFoldResult> element);

  ImplicitLocOpBuilder &builder;
  const ElementChain &chain;
  /// Values by op and element.
  std::map<std::pair<unsigned, SmallVector<void *>>, Value> known;
};
} // namespace

/// Returns the loop indices of `producer` that compute an element of a view of
/// its output.
ElementBuilder::Indices
ElementBuilder::getLoopsOf(unsigned producer, Value view,
                           ArrayRef<OpFoldResult> element) {
  Indices loops(chain.getOp(producer).getNumLoops());
  for (auto [loop, dim] : chain.getLoopsOf(producer, view))
    loops[loop] = dim ? element[*dim] : builder.getIndexAttr(0);
  return loops;
}

Value ElementBuilder::read(unsigned opIndex, OpOperand &operand,
                           ArrayRef<OpFoldResult> loops) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  AffineMap map = chain.getOp(opIndex).getMatchingIndexingMap(&operand);
  Indices element;
  for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
    element.push_back(affine::makeComposedFoldedAffineApply(
        builder, builder.getLoc(), map.getSubMap({dim}), loops));
  if (std::optional<unsigned> producer =
          chain.getProducer(opIndex, operand.get()))
    return evaluate(*producer, getLoopsOf(*producer, operand.get(), element));
  return memref::LoadOp::create(
      builder, operand.get(),
      getValueOrCreateConstantIndexOp(builder, builder.getLoc(), element));
}

/// Builds one iteration of the op's loops. Returns its result.
Value ElementBuilder::inlineBody(unsigned opIndex, ArrayRef<OpFoldResult> loops,
                                 Value accumulator) {
  GenericOp op = chain.getOp(opIndex);
  IRMapping mapping;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (BlockArgument element = op.getMatchingBlockArgument(operand);
        !element.use_empty())
      mapping.map(element, read(opIndex, *operand, loops));
  if (accumulator)
    mapping.map(op.getBlock()->getArguments().back(), accumulator);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(),
                  getValueOrCreateConstantIndexOp(builder, builder.getLoc(),
                                                  loops[index.getDim()]));
    else
      builder.clone(inner, mapping);
  }
  return mapping.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

/// Builds the element that an op computes in iteration `loops` of its parallel
/// loops.
Value ElementBuilder::evaluate(unsigned opIndex, Indices loops) {
  GenericOp op = chain.getOp(opIndex);
  std::pair<unsigned, SmallVector<void *>> key{opIndex, {}};
  for (OpFoldResult index : loops)
    key.second.push_back(index.getOpaqueValue());
  if (auto found = known.find(key); found != known.end())
    return found->second;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Indices first = loops;
  for (unsigned dim : reduced)
    first[dim] = builder.getIndexAttr(0);
  Value value;
  if (readsOut(op))
    value = read(opIndex, *op.getDpsInitOperand(0), first);
  for (int64_t term = 0; term < countTerms(op); ++term) {
    int64_t rest = term;
    for (unsigned dim : llvm::reverse(reduced)) {
      loops[dim] = builder.getIndexAttr(rest % extents[dim]);
      rest /= extents[dim];
    }
    value = inlineBody(opIndex, loops, value);
  }
  known[key] = value;
  return value;
}

void ElementBuilder::build() {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  GenericOp space = chain.getOp(chain.getResults().front());
  SmallVector<int64_t> extents = space.getStaticLoopRanges();
  // A scalar needs a loop of one iteration, because only loops are divided
  // among threads.
  if (extents.empty())
    extents.push_back(1);
  SmallVector<Value> begins, ends, steps;
  for (int64_t extent : extents) {
    begins.push_back(index(0));
    ends.push_back(index(extent));
    steps.push_back(index(1));
  }
  auto loop = scf::ParallelOp::create(builder, begins, ends, steps);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ValueRange variables =
      loop.getBody()->getArguments().take_front(space.getNumLoops());
  Indices element = getAsOpFoldResult(variables);
  SmallVector<Value> values;
  for (unsigned opIndex : chain.getResults())
    values.push_back(evaluate(opIndex, element));
  for (auto [opIndex, value] : llvm::zip(chain.getResults(), values))
    memref::StoreOp::create(builder, value, getOut(chain.getOp(opIndex)),
                            variables);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseElementOpsPass
    : ark::impl::FuseElementOpsPassBase<FuseElementOpsPass> {
  using FuseElementOpsPassBase::FuseElementOpsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<Block *> blocks;
      body.walk([&](Block *block) { blocks.push_back(block); });
      for (Block *block : blocks)
        run(*block);
    }
  }

private:
  void run(Block &block);
  void replace(ArrayRef<GenericOp> ops);
};
} // namespace

void FuseElementOpsPass::replace(ArrayRef<GenericOp> ops) {
  std::optional<ElementChain> chain = ElementChain::match(ops);
  if (!chain)
    return;
  GenericOp space = chain->getOp(chain->getResults().front());
  int64_t elements = 1;
  for (int64_t extent : space.getStaticLoopRanges())
    elements *= extent;
  // With more elements than threads, a thread would recompute shared values for
  // each of its elements.
  if (elements > threads || !BodyCounter(*chain).isCheap())
    return;
  ImplicitLocOpBuilder builder(space.getLoc(), ops.back());
  ElementBuilder(builder, *chain).build();
  for (GenericOp op : ops)
    op.erase();
  ++numChains;
}

/// Fuses sequences of ops without memory accesses between them.
void FuseElementOpsPass::run(Block &block) {
  SmallVector<SmallVector<GenericOp>> sequences(1);
  for (Operation &op : block) {
    auto generic = dyn_cast<GenericOp>(op);
    if (generic && hasStaticPositions(generic))
      sequences.back().push_back(generic);
    else if (!isMemoryEffectFree(&op) && !isa<memref::AllocaOp>(op))
      sequences.emplace_back();
  }
  for (ArrayRef<GenericOp> ops : sequences)
    if (ops.size() > 1)
      replace(ops);
}
