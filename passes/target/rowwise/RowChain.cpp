//===- RowChain.cpp - Chains of ops on rows -------------------------------===//

#include "passes/target/rowwise/RowChain.h"

#include "passes/target/support/Aliasing.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Elements of temporaries
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a temporary that a static view covers.
struct View {
  Value root;
  int64_t offset = 0;
  SmallVector<int64_t> strides, shape;

  static std::optional<View> get(Value buffer);

  /// Returns true if the rows of both have the same strides.
  bool hasSameRows(const View &other, unsigned rows) const;
  /// Returns the first element and the end of the range.
  std::pair<int64_t, int64_t> getHull() const;
};
} // namespace

/// Returns nothing if the view or the shape is dynamic.
std::optional<View> View::get(Value buffer) {
  View view;
  view.root = getRoot(buffer);
  if (!view.root.getDefiningOp<memref::AllocaOp>())
    return std::nullopt;
  for (Value value = buffer; value != view.root;) {
    Operation *definition = value.getDefiningOp();
    if (!isa<memref::SubViewOp, memref::ReinterpretCastOp>(definition))
      return std::nullopt;
    value = cast<ViewLikeOpInterface>(definition).getViewSource();
  }
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(view.strides, view.offset)) ||
      ShapedType::isDynamic(view.offset) ||
      ShapedType::isDynamicShape(view.strides))
    return std::nullopt;
  llvm::append_range(view.shape, type.getShape());
  return view;
}

bool View::hasSameRows(const View &other, unsigned rows) const {
  for (unsigned dim = 0; dim < rows; ++dim)
    if (shape[dim] != other.shape[dim] ||
        (shape[dim] > 1 && strides[dim] != other.strides[dim]))
      return false;
  return true;
}

std::pair<int64_t, int64_t> View::getHull() const {
  int64_t end = offset + 1;
  for (auto [stride, extent] : llvm::zip(strides, shape))
    end += stride * (extent - 1);
  return {offset, end};
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace mlir::ark {
/// Collects consecutive ops into chains.
class RowChainFinder {
public:
  /// Adds `op` to the chain. Returns false if `op` does not belong to it.
  bool add(linalg::GenericOp op);
  bool empty() const { return ops.empty(); }
  std::vector<RowChain> getChains() const;

private:
  /// The content of a temporary: the result of an op, or one scalar in all
  /// elements.
  struct Content {
    View view;
    /// The index of the op, or of the fill.
    unsigned index;
    bool isFill;
  };
  struct Fill {
    linalg::LinalgOp op;
    Value value;
    SmallVector<unsigned> readers;
    bool isStored = true;
  };

  bool addFill(linalg::GenericOp op);
  bool setSpace(ChainOp &op);
  bool resolve(ChainOp &op, OpOperand &operand);
  bool resolveContent(const ChainOp &op, const Content &content,
                      const View &view, ChainOperand &operand);
  bool write(linalg::GenericOp op, bool isFill);
  bool isDisjoint(const View &view, const Content &content) const;
  const Content *findContent(const View &view, bool &overlaps) const;
  RowChain getChain(ArrayRef<unsigned> members) const;

  std::vector<ChainOp> ops;
  std::vector<Fill> fills;
  SmallVector<Content> contents;
  /// Buffers that the chain reads and does not compute, and buffers that the
  /// chain writes and that are not temporaries.
  SmallVector<Value> readBuffers, writtenBuffers;
  /// The fills that the current op reads.
  SmallVector<unsigned> readFills;
  llvm::EquivalenceClasses<unsigned> classes;
};
} // namespace mlir::ark

/// Returns true if no iteration of an op, which may be a reduction, depends on
/// loop indices or on memory other than its operands.
static bool dependsOnOperandsOnly(linalg::GenericOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 &&
         llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isMemoryEffectFree(&inner) &&
                               inner.getNumRegions() == 0 &&
                               !isa<linalg::IndexOp>(inner);
                      });
}

static Value getOut(linalg::GenericOp op) { return op.getDpsInits()[0]; }

/// Returns true if the results of a map are the first `count` loops in order.
static bool isFirstDims(AffineMap map, unsigned count) {
  return map ==
         AffineMap::getFilteredIdentityMap(
             map.getContext(), map.getNumDims(),
             [&](AffineDimExpr loop) { return loop.getPosition() < count; });
}

/// Returns true if each result of a map is a loop or a constant.
static bool selectsLoopsOrConstants(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr expr) {
    return isa<AffineDimExpr, AffineConstantExpr>(expr);
  });
}

/// Adds an op that writes one scalar to all elements of a temporary.
bool RowChainFinder::addFill(linalg::GenericOp op) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  Value out = getOut(op);
  if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() != 0 ||
      !argument || argument.getArgNumber() != 0 ||
      isa<MemRefType>(op.getInputs()[0].getType()) ||
      !out.getDefiningOp<memref::AllocaOp>() || !write(op, /*isFill=*/true))
    return false;
  fills.push_back({op, op.getInputs()[0], {}, true});
  return true;
}

/// Finds the rows and the columns of an op. All loops except a reduction loop
/// are rows. In an op without a reduction, the operands decide if the last loop
/// is over columns.
bool RowChainFinder::setSpace(ChainOp &chainOp) {
  linalg::GenericOp op = chainOp.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  unsigned loops = op.getNumLoops();
  AffineMap outMap = op.getIndexingMapsArray().back();
  if (op.getNumReductionLoops() != 0) {
    chainOp.reduction = Reduction::match(op);
    if (!chainOp.reduction || op.getNumReductionLoops() != 1 ||
        op.getIteratorTypesArray().back() != utils::IteratorType::reduction ||
        !isFirstDims(outMap, loops - 1) ||
        !getElementTypeOrSelf(getOut(op)).isF32())
      return false;
  } else if (!outMap.isIdentity()) {
    return false;
  }
  // Row scalars are computed from other row scalars.
  bool readsRowScalar =
      llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
        std::optional<View> view;
        if (!op.getMatchingBlockArgument(&operand).use_empty() &&
            isa<MemRefType>(operand.get().getType()))
          view = View::get(operand.get());
        bool overlaps = false;
        const Content *content = view ? findContent(*view, overlaps) : nullptr;
        return content && !content->isFill &&
               ops[content->index].makesRowScalar() &&
               op.getMatchingIndexingMap(&operand).isIdentity();
      });
  if (loops == 0)
    return false;
  if (!readsRowScalar || chainOp.reduction) {
    chainOp.columns = extents.back();
    extents.pop_back();
  }
  chainOp.rowShape = extents;
  return true;
}

/// Returns true if `view` and `content` are disjoint. Disjoint views may be
/// different columns of the same rows.
bool RowChainFinder::isDisjoint(const View &view,
                                const Content &content) const {
  const View &other = content.view;
  auto [first, last] = view.getHull();
  auto [firstOther, lastOther] = other.getHull();
  unsigned dims = view.shape.size();
  if (view.root != other.root || first >= lastOther || firstOther >= last)
    return true;
  if (dims == 0 || dims != other.shape.size() ||
      !view.hasSameRows(other, dims - 1) || view.strides.back() != 1 ||
      other.strides.back() != 1)
    return false;
  int64_t begin = view.offset - other.offset;
  return begin >= other.shape.back() || -begin >= view.shape.back();
}

/// Returns the content that was written to `view` last, if it covers all of
/// `view`.
const RowChainFinder::Content *
RowChainFinder::findContent(const View &view, bool &overlaps) const {
  for (const Content &content : llvm::reverse(contents)) {
    if (isDisjoint(view, content))
      continue;
    overlaps = true;
    const View &made = content.view;
    unsigned dims = view.shape.size();
    if (content.isFill)
      return &content;
    bool isRowScalar = ops[content.index].makesRowScalar();
    unsigned rows = isRowScalar ? dims : dims - 1;
    int64_t begin = view.offset - made.offset;
    if (dims != made.shape.size() || dims < rows ||
        !view.hasSameRows(made, rows) ||
        (isRowScalar
             ? begin != 0
             : view.strides.back() != 1 || made.strides.back() != 1 ||
                   begin < 0 || begin + view.shape.back() > made.shape.back()))
      return nullptr;
    return &content;
  }
  return nullptr;
}

bool RowChainFinder::resolveContent(const ChainOp &op, const Content &content,
                                    const View &view, ChainOperand &operand) {
  if (content.isFill) {
    operand.source = ChainOperand::Scalar;
    operand.value = fills[content.index].value;
    readFills.push_back(content.index);
    return true;
  }
  const ChainOp &made = ops[content.index];
  bool isOwn = made.makesRowScalar()
                   ? isFirstDims(operand.map, op.rowShape.size())
                   : op.columns && operand.map.isIdentity();
  if (made.rowShape != op.rowShape || !isOwn)
    return false;
  operand.source = ChainOperand::Earlier;
  operand.earlier = content.index;
  operand.shift = made.makesRowScalar() ? 0 : view.offset - content.view.offset;
  return true;
}

bool RowChainFinder::resolve(ChainOp &op, OpOperand &opOperand) {
  op.operands.emplace_back();
  if (op.op.getMatchingBlockArgument(&opOperand).use_empty())
    return true;
  ChainOperand operand;
  operand.value = opOperand.get();
  operand.map = op.op.getMatchingIndexingMap(&opOperand);
  if (isa<MemRefType>(operand.value.getType())) {
    operand.source = ChainOperand::Memory;
    std::optional<View> view = View::get(operand.value);
    bool overlaps = false;
    const Content *content = view ? findContent(*view, overlaps) : nullptr;
    if (content) {
      if (!resolveContent(op, *content, *view, operand))
        return false;
    } else {
      auto isMade = [&](Value made) { return mayAlias(made, operand.value); };
      bool isOfContent =
          !view && llvm::any_of(contents, [&](const Content &other) {
            return isMade(other.view.root);
          });
      if (overlaps || isOfContent || llvm::any_of(writtenBuffers, isMade) ||
          !selectsLoopsOrConstants(operand.map))
        return false;
      readBuffers.push_back(operand.value);
    }
  }
  op.operands.back() = operand;
  return true;
}

/// Records the result of an op. Returns false unless the result is disjoint
/// from all memory that was read, and is disjoint from or equal to each earlier
/// result.
bool RowChainFinder::write(linalg::GenericOp op, bool isFill) {
  Value out = getOut(op);
  auto mayTouch = [&](Value other) { return mayAlias(other, out); };
  if (llvm::any_of(readBuffers, mayTouch) ||
      llvm::any_of(writtenBuffers, mayTouch))
    return false;
  std::optional<View> view = View::get(out);
  if (!view) {
    if (getRoot(out).getDefiningOp<memref::AllocaOp>())
      return false;
    writtenBuffers.push_back(out);
    return true;
  }
  SmallVector<const Content *> covered;
  for (const Content &content : contents) {
    if (isDisjoint(*view, content))
      continue;
    const View &other = content.view;
    if (isFill || (view->offset == other.offset && view->shape == other.shape &&
                   view->strides == other.strides))
      covered.push_back(&content);
    else if (!content.isFill)
      return false;
  }
  for (const Content *content : covered)
    (content->isFill ? fills[content->index].isStored
                     : ops[content->index].isStored) = false;
  unsigned index = isFill ? fills.size() : ops.size();
  contents.push_back({*view, index, isFill});
  return true;
}

bool RowChainFinder::add(linalg::GenericOp op) {
  if (!dependsOnOperandsOnly(op) ||
      ShapedType::isDynamicShape(op.getStaticLoopRanges()))
    return false;
  if (addFill(op))
    return true;
  ChainOp chainOp{op, std::nullopt, {}, std::nullopt, {}, true};
  readFills.clear();
  if (!setSpace(chainOp) ||
      !llvm::all_of(
          op->getOpOperands(),
          [&](OpOperand &operand) { return resolve(chainOp, operand); }) ||
      !write(op, /*isFill=*/false))
    return false;
  unsigned index = ops.size();
  classes.insert(index);
  for (const std::optional<ChainOperand> &operand : chainOp.operands)
    if (operand && operand->source == ChainOperand::Earlier)
      classes.unionSets(index, operand->earlier);
  for (unsigned fill : readFills)
    fills[fill].readers.push_back(index);
  ops.push_back(std::move(chainOp));
  return true;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Returns true if an op after `first` outside of `members` accesses the
/// buffer, directly or through views.
static bool isUsedLater(Value buffer, Operation *first,
                        const llvm::SmallPtrSetImpl<Operation *> &members) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return isUsedLater(user->getResult(0), first, members);
    Operation *inBlock = first->getBlock()->findAncestorOpInBlock(*user);
    return !members.contains(user) &&
           (!inBlock || !inBlock->isBeforeInBlock(first));
  });
}

RowChain RowChainFinder::getChain(ArrayRef<unsigned> members) const {
  RowChain chain;
  llvm::SmallPtrSet<Operation *, 16> inside;
  llvm::DenseMap<unsigned, unsigned> newIndices;
  for (unsigned member : members) {
    newIndices[member] = chain.ops.size();
    ChainOp op = ops[member];
    for (std::optional<ChainOperand> &operand : op.operands)
      if (operand && operand->source == ChainOperand::Earlier)
        operand->earlier = newIndices.lookup(operand->earlier);
    inside.insert(op.op);
    chain.ops.push_back(std::move(op));
  }
  auto isMember = [&](unsigned reader) { return newIndices.contains(reader); };
  for (const Fill &fill : fills)
    if (!fill.readers.empty() && llvm::all_of(fill.readers, isMember))
      inside.insert(fill.op);
  auto isNeeded = [&](linalg::LinalgOp op) {
    Value root = getRoot(op.getDpsInits()[0]);
    return !root.getDefiningOp<memref::AllocaOp>() ||
           isUsedLater(root, op, inside);
  };
  for (ChainOp &op : chain.ops)
    op.isStored = op.isStored && isNeeded(op.op);
  for (const Fill &fill : fills)
    if (inside.contains(fill.op) && !(fill.isStored && isNeeded(fill.op)))
      chain.fills.push_back(fill.op);
  return chain;
}

std::vector<RowChain> RowChainFinder::getChains() const {
  std::vector<RowChain> chains;
  for (unsigned leader = 0; leader < ops.size(); ++leader) {
    SmallVector<unsigned> members;
    for (unsigned index = 0; index < ops.size(); ++index)
      if (classes.isEquivalent(leader, index))
        members.push_back(index);
    // A reduction whose result no op on its row uses does not justify a chain.
    auto usesRowScalar = [&](unsigned index) {
      return !ops[index].makesRowScalar() &&
             llvm::any_of(ops[index].operands, [&](const auto &operand) {
               return operand && operand->source == ChainOperand::Earlier &&
                      ops[operand->earlier].makesRowScalar();
             });
    };
    if (members.front() == leader && llvm::any_of(members, usesRowScalar))
      chains.push_back(getChain(members));
  }
  return chains;
}

int64_t RowChain::getNumColumns() const {
  int64_t columns = 1;
  for (const ChainOp &op : ops)
    columns = std::max(columns, op.columns.value_or(1));
  return columns;
}

std::vector<RowChain> ark::findRowChains(Block &block) {
  std::vector<RowChain> chains;
  RowChainFinder finder;
  auto finish = [&] {
    llvm::append_range(chains, finder.getChains());
    finder = {};
  };
  int64_t numOps = 0;
  for (Operation &op : block) {
    auto structured = dyn_cast<linalg::GenericOp>(op);
    if (!structured && isMemoryEffectFree(&op))
      continue;
    numOps += isa<linalg::GenericOp, BodyOpInterface>(op);
    if (structured && finder.add(structured))
      continue;
    finish();
    // The op that ended the last chain may begin the next one.
    if (structured)
      (void)finder.add(structured);
  }
  finish();
  for (const RowChain &chain : chains)
    numOps -= chain.getOps().size() + chain.getFills().size();
  return numOps > 0 ? chains : std::vector<RowChain>();
}
