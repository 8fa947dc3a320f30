//===- CheckerAccesses.cpp - Accesses of the vCTAs of a program -----------===//

#include "lib/proof/CheckerAccesses.h"

#include "dialects/ark/ArkLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

//===----------------------------------------------------------------------===//
// Affine expressions
//===----------------------------------------------------------------------===//

/// Evaluates an expression. Returns nothing if 64 bits do not hold the value or
/// a divisor is not positive.
static std::optional<int64_t> evaluateChecked(AffineExpr expr,
                                              ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> lhs = evaluateChecked(binary.getLHS(), dims);
  std::optional<int64_t> rhs = evaluateChecked(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t result;
  if (expr.getKind() == AffineExprKind::Add)
    return llvm::AddOverflow(*lhs, *rhs, result) ? std::nullopt
                                                 : std::optional(result);
  if (expr.getKind() == AffineExprKind::Mul)
    return llvm::MulOverflow(*lhs, *rhs, result) ? std::nullopt
                                                 : std::optional(result);
  if (*rhs <= 0)
    return std::nullopt;
  int64_t quotient = llvm::divideFloorSigned(*lhs, *rhs);
  int64_t remainder = *lhs - quotient * *rhs;
  if (expr.getKind() == AffineExprKind::Mod)
    return remainder;
  return expr.getKind() == AffineExprKind::FloorDiv
             ? quotient
             : quotient + (remainder > 0);
}

int64_t checker::evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  return *evaluateChecked(expr, dims);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static std::string describeRange(int64_t begin, int64_t end) {
  return ("bytes [" + Twine(begin) + ", " + Twine(end) + ")").str();
}

/// Returns the bytes of a buffer within its root. The buffer is an argument,
/// the arena, packets, or a `memref.view` of the arena or of packets.
static FailureOr<Bounds> getBufferBounds(TaskOp task, Value buffer) {
  FailureOr<BufferView> view = resolveBufferView(buffer);
  if (failed(view))
    return failure();
  if (!isAddressable(cast<ShapedType>(buffer.getType())))
    return task.emitOpError("works on a buffer of more than 2^47 bytes");
  return Bounds(view->byteOffset, view->getByteEnd());
}

/// Checks that an operand lies within its buffer, and the buffer within its
/// root, and that the operand is aligned to its elements.
static LogicalResult checkView(TaskOp task, unsigned operand,
                               const BufferView &view) {
  FailureOr<Bounds> buffer = getBufferBounds(task, view.buffer);
  FailureOr<Bounds> root = getBufferBounds(task, view.root);
  if (failed(buffer) || failed(root))
    return failure();
  auto error = [&]() {
    return task.emitOpError("operand ")
           << operand << " of '" << task.getName() << "' ";
  };
  if (buffer->first < root->first || buffer->second > root->second)
    return error() << "is part of "
                   << describeRange(buffer->first, buffer->second)
                   << " of a buffer of " << root->second << " bytes";
  if (view.byteOffset < buffer->first || view.getByteEnd() > buffer->second)
    return error() << "is "
                   << describeRange(view.byteOffset - buffer->first,
                                    view.getByteEnd() - buffer->first)
                   << " of a buffer of " << buffer->second - buffer->first
                   << " bytes";
  if (view.byteOffset % view.elementBytes != 0)
    return error() << "begins at byte " << view.byteOffset
                   << ", which is not a multiple of the " << view.elementBytes
                   << " bytes of its elements";
  return success();
}

/// Checks one dimension of the region of one vCTA: the region begins inside of
/// the operand, and ends there unless the tile is clipped.
static LogicalResult checkRange(TaskOp task, const OperandAccess &access,
                                int64_t vcta, unsigned dim,
                                std::optional<int64_t> begin, bool isClipped) {
  int64_t extent = access.view.shape[dim];
  int64_t size = access.region.getSizes()[dim];
  bool begins = begin && *begin >= 0 && *begin < std::max<int64_t>(extent, 1);
  if (begins && (isClipped || size <= extent - *begin))
    return success();
  InFlightDiagnostic diagnostic = task.emitOpError("region of vCTA ")
                                  << vcta << " of '" << task.getName()
                                  << "' leaves operand " << access.operand
                                  << " in dimension " << dim;
  if (begin)
    diagnostic << ": it begins at " << *begin << " of " << extent
               << " elements, and has " << size;
  else
    diagnostic << ": 64 bits do not hold where it begins";
  return diagnostic;
}

/// Checks that the regions of all vCTAs lie within the operand.
static LogicalResult checkRegions(TaskOp task, const OperandAccess &access) {
  auto tile =
      cast<ShapedType>(task.getBody()
                           .getArgument(access.grid.size() + access.operand)
                           .getType());
  ArrayRef<AffineExpr> offsets = access.region.getOffsets().getResults();
  SmallVector<int64_t> index(access.grid.size(), 0);
  for (int64_t vcta = 0, count = task.getNumVCTAs(); vcta < count; ++vcta) {
    for (unsigned dim = 0; dim < offsets.size(); ++dim)
      if (failed(checkRange(task, access, vcta, dim,
                            evaluateChecked(offsets[dim], index),
                            tile.isDynamicDim(dim))))
        return failure();
    for (size_t dim = index.size(); dim > 0; --dim) {
      if (++index[dim - 1] < access.grid[dim - 1])
        break;
      index[dim - 1] = 0;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ProgramAccesses
//===----------------------------------------------------------------------===//

LogicalResult ProgramAccesses::collect() {
  llvm::append_range(tasks, program.getBody().getOps<TaskOp>());
  for (auto [index, task] : llvm::enumerate(tasks)) {
    firstVCTA.push_back(firstVCTA.back() + task.getNumVCTAs());
    for (auto [operand, value] : llvm::enumerate(task.getOperands())) {
      FailureOr<BufferView> view = resolveBufferView(value);
      if (failed(view) || failed(checkView(task, operand, *view)))
        return failure();
      accesses.push_back({static_cast<unsigned>(index),
                          static_cast<unsigned>(operand),
                          operand >= task.getInputs().size(),
                          task.getRegion(operand), task.getGrid(), *view});
      if (failed(checkRegions(task, accesses.back())))
        return failure();
    }
  }
  for (const OperandAccess &access : accesses) {
    BufferAccesses &buffer = buffers[access.view.root];
    buffer.root = access.view.root;
    buffer.accesses.push_back(&access);
    buffer.isWritten |= access.isWrite;
  }
  return success();
}

bool checker::shareBytes(const OperandAccess &a, const OperandAccess &b) {
  return a.view.byteOffset < b.view.getByteEnd() &&
         b.view.byteOffset < a.view.getByteEnd();
}

std::vector<BufferAccesses>
checker::divideByBytes(const BufferAccesses &buffer) {
  auto getBegin = [&](unsigned access) {
    return buffer.accesses[access]->view.byteOffset;
  };
  auto order = llvm::to_vector(llvm::seq<unsigned>(buffer.accesses.size()));
  llvm::stable_sort(
      order, [&](unsigned a, unsigned b) { return getBegin(a) < getBegin(b); });
  std::vector<unsigned> groupOf(order.size());
  unsigned numGroups = 0;
  int64_t end = std::numeric_limits<int64_t>::min();
  for (unsigned access : order) {
    numGroups += getBegin(access) >= end;
    groupOf[access] = numGroups - 1;
    end = std::max(end, buffer.accesses[access]->view.getByteEnd());
  }
  std::vector<BufferAccesses> groups(numGroups,
                                     {buffer.root, {}, buffer.isWritten});
  for (auto [access, group] : llvm::zip(buffer.accesses, groupOf))
    groups[group].accesses.push_back(access);
  return groups;
}

unsigned ProgramAccesses::getTaskOf(uint32_t vcta) const {
  return llvm::upper_bound(firstVCTA, vcta) - firstVCTA.begin() - 1;
}
