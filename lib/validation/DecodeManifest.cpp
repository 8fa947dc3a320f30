//===- DecodeManifest.cpp - From JSON to records --------------------------===//

#include "lib/validation/DecodeManifest.h"

#include "dialects/ark/ArkLimits.h"
#include "lib/support/BufferView.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::validation;
namespace json = llvm::json;

/// The greatest depth of an expression, beyond any region that a compiler
/// makes.
static constexpr unsigned kMaxDepth = 32;
/// The largest factor or divisor of a region. Products with a grid index fit 64
/// bits.
static constexpr int64_t kMaxFactor = int64_t(1) << 40;

int64_t OperandRecord::getSpan() const {
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    if (extent == 0)
      return 0;
    last += (extent - 1) * stride;
  }
  return (last + 1) * elementBytes;
}

SmallVector<int64_t> Manifest::getSlotBytes() const {
  SmallVector<int64_t> bytes = {arena};
  for (const BufferRecord &buffer : buffers)
    bytes.push_back(buffer.bytes);
  if (packets)
    bytes.push_back(packets);
  return bytes;
}

namespace {
/// Reads fields in sequence. After the first error all reads return defaults,
/// and `decode` fails.
class Decoder {
public:
  explicit Decoder(Location loc) : loc(loc), builder(loc.getContext()) {}

  FailureOr<Manifest> decode(const json::Value &value);

private:
  using Object = json::Object;

  void fail(const Twine &path, const Twine &problem);
  const Object &object(const json::Value *value, const Twine &path);
  const json::Array &array(const Object &from, StringRef key,
                           const Twine &path);
  int64_t integer(const json::Value *value, const Twine &path, int64_t low,
                  int64_t high);
  int64_t integer(const Object &from, StringRef key, const Twine &path,
                  int64_t low = 0, int64_t high = kMaxBytes) {
    return integer(from.get(key), path + "." + key, low, high);
  }
  bool flag(const Object &from, StringRef key, const Twine &path);
  std::string text(const Object &from, StringRef key, const Twine &path);
  SmallVector<int64_t> integers(const Object &from, StringRef key,
                                const Twine &path, int64_t low = 0);
  Type elementType(const Object &from, const Twine &path);

  BufferRecord buffer(const json::Value &value, const Twine &path);
  BodyRecord body(const json::Value &value, const Twine &path);
  OperandRecord operand(const json::Value &value, const Twine &path);
  AffineExpr expression(const json::Value &value, const Twine &path,
                        unsigned depth = 0);
  TaskRecord task(const json::Value &value, const Twine &path);
  SemaphoreRecord semaphore(const json::Value &value, const Twine &path);
  ValueRecord intermediate(const json::Value &value, const Twine &path);
  void target(const Object &from);
  void checkTask(const TaskRecord &record, const Twine &path);

  template <typename T>
  std::vector<T> each(const Object &from, StringRef key, const Twine &path,
                      T (Decoder::*parse)(const json::Value &, const Twine &)) {
    std::vector<T> records;
    for (auto [index, item] : llvm::enumerate(array(from, key, path)))
      records.push_back(
          (this->*parse)(item, path + (path.isTriviallyEmpty() ? "" : ".") +
                                   key + "[" + Twine(index) + "]"));
    return records;
  }

  Location loc;
  Builder builder;
  Manifest manifest;
  bool failed = false;
  const Object noObject;
  const json::Array noArray;
};
} // namespace

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void Decoder::fail(const Twine &path, const Twine &problem) {
  if (!failed)
    emitError(loc) << "manifest: " << path.str() << ": " << problem.str();
  failed = true;
}

const json::Object &Decoder::object(const json::Value *value,
                                    const Twine &path) {
  const Object *found = value ? value->getAsObject() : nullptr;
  if (!found)
    fail(path, "expected an object");
  return found ? *found : noObject;
}

const json::Array &Decoder::array(const Object &from, StringRef key,
                                  const Twine &path) {
  const json::Array *found = from.getArray(key);
  if (!found)
    fail(path + "." + key, "expected an array");
  return found ? *found : noArray;
}

int64_t Decoder::integer(const json::Value *value, const Twine &path,
                         int64_t low, int64_t high) {
  std::optional<int64_t> found = value ? value->getAsInteger() : std::nullopt;
  if (found && *found >= low && *found <= high)
    return *found;
  fail(path,
       "expected an integer in [" + Twine(low) + ", " + Twine(high) + "]");
  return low;
}

bool Decoder::flag(const Object &from, StringRef key, const Twine &path) {
  if (!from.get(key))
    return false;
  std::optional<bool> found = from.getBoolean(key);
  if (!found)
    fail(path + "." + key, "expected true or false");
  return found.value_or(false);
}

std::string Decoder::text(const Object &from, StringRef key,
                          const Twine &path) {
  std::optional<StringRef> found = from.getString(key);
  if (!found)
    fail(path + "." + key, "expected a string");
  return found.value_or("").str();
}

SmallVector<int64_t> Decoder::integers(const Object &from, StringRef key,
                                       const Twine &path, int64_t low) {
  SmallVector<int64_t> numbers;
  for (auto [index, item] : llvm::enumerate(array(from, key, path)))
    numbers.push_back(integer(
        &item, path + "." + key + "[" + Twine(index) + "]", low, kMaxBytes));
  return numbers;
}

Type Decoder::elementType(const Object &from, const Twine &path) {
  std::string name = text(from, "dtype", path);
  auto integerType = [&](unsigned width) -> Type {
    return builder.getIntegerType(width);
  };
  Type type =
      llvm::StringSwitch<Type>(name)
          .Case("fp32", builder.getF32Type())
          .Case("fp16", builder.getF16Type())
          .Case("bf16", builder.getBF16Type())
          .Case("fp8_e4m3", builder.getType<Float8E4M3FNType>())
          .Case("fp8_e5m2", builder.getType<Float8E5M2Type>())
          .Case("bool", integerType(1))
          .Case("int8", integerType(8))
          .Case("int32", integerType(32))
          .Case("int64", integerType(64))
          .Case("uint8", builder.getIntegerType(8, /*isSigned=*/false))
          .Case("uint32", builder.getIntegerType(32, /*isSigned=*/false))
          .Default(nullptr);
  if (!type)
    fail(path + ".dtype", "unknown element type");
  return type ? type : integerType(8);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Returns the product of extents, or nothing if it exceeds the largest buffer.
static std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, extent, count) || count > kMaxBytes)
      return std::nullopt;
  return count;
}

BufferRecord Decoder::buffer(const json::Value &value, const Twine &path) {
  const Object &from = object(&value, path);
  BufferRecord record;
  record.name = text(from, "name", path);
  std::optional<ArgumentKind> kind =
      symbolizeArgumentKind(text(from, "kind", path));
  if (!kind)
    fail(path + ".kind", "unknown kind");
  record.kind = kind.value_or(ArgumentKind::Input);
  record.element = elementType(from, path);
  record.shape = integers(from, "shape", path);
  record.bytes = integer(from, "bytes", path);
  std::optional<int64_t> count = countElements(record.shape);
  if (!count || *count * getElementBytes(record.element) != record.bytes)
    fail(path + ".bytes", "differs from the bytes of the shape");
  record.stop = flag(from, "stop", path);
  return record;
}

/// Parses an integer, `"d0"`, or an array of an operator and two expressions.
AffineExpr Decoder::expression(const json::Value &value, const Twine &path,
                               unsigned depth) {
  if (value.getAsInteger())
    return builder.getAffineConstantExpr(
        integer(&value, path, -kMaxBytes, kMaxBytes));
  unsigned dim;
  if (std::optional<StringRef> name = value.getAsString();
      name && name->consume_front("d") && !name->getAsInteger(10, dim) &&
      dim < kMaxDepth)
    return builder.getAffineDimExpr(dim);
  const json::Array *parts = value.getAsArray();
  std::optional<StringRef> symbol =
      parts && parts->size() == 3 && depth < kMaxDepth
          ? (*parts)[0].getAsString()
          : std::nullopt;
  if (!symbol) {
    fail(path, "expected an expression of grid indices");
    return builder.getAffineConstantExpr(0);
  }
  AffineExpr left = expression((*parts)[1], path, depth + 1);
  AffineExpr right = expression((*parts)[2], path, depth + 1);
  if (*symbol == "+")
    return left + right;
  auto constant = dyn_cast<AffineConstantExpr>(right);
  bool multiplies = *symbol == "*";
  if (!constant || constant.getValue() > kMaxFactor ||
      constant.getValue() < (multiplies ? -kMaxFactor : 1)) {
    fail(path, "expected a number to the right of an operator");
    return left;
  }
  if (multiplies)
    return left * right;
  if (*symbol == "mod")
    return left % right;
  if (*symbol == "floordiv")
    return left.floorDiv(right);
  if (*symbol == "ceildiv")
    return left.ceilDiv(right);
  fail(path, "unknown operator");
  return left;
}

OperandRecord Decoder::operand(const json::Value &value, const Twine &path) {
  const Object &from = object(&value, path);
  OperandRecord record;
  std::string access = text(from, "access", path);
  if (access == "write")
    record.access = Access::Write;
  else if (access == "update")
    record.access = Access::Update;
  else if (access != "read")
    fail(path + ".access", "expected read, write or update");
  record.element = elementType(from, path);
  record.elementBytes = getElementBytes(record.element);
  record.shape = integers(from, "shape", path);
  record.strides = from.get("strides") ? integers(from, "strides", path)
                                       : getDenseStrides(record.shape);
  record.begin = from.get("begin") ? integer(from, "begin", path) : 0;
  record.alignment = from.get("alignment") ? integer(from, "alignment", path, 1)
                                           : record.elementBytes;
  record.sizes = integers(from, "sizes", path, /*low=*/1);
  for (const json::Value &offset : array(from, "offsets", path))
    record.offsets.push_back(expression(offset, path + ".offsets"));
  size_t rank = record.shape.size();
  if (record.strides.size() != rank || record.sizes.size() != rank ||
      record.offsets.size() != rank) {
    fail(path, "shape, strides, offsets and sizes have different lengths");
    record = OperandRecord();
    record.element = builder.getI8Type();
    return record;
  }
  // Checks that the span fits 64 bits.
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(record.shape, record.strides)) {
    int64_t reach;
    if (llvm::MulOverflow(std::max<int64_t>(extent - 1, 0), stride, reach) ||
        (last += reach) > kMaxBytes || reach > kMaxBytes) {
      fail(path, "takes more than 2^47 bytes");
      record.strides.assign(rank, 0);
      break;
    }
  }
  return record;
}

BodyRecord Decoder::body(const json::Value &value, const Twine &path) {
  const Object &from = object(&value, path);
  BodyRecord record;
  record.name = text(from, "name", path);
  record.stamps = flag(from, "stamps", path);
  for (auto [index, list] : llvm::enumerate(array(from, "footprints", path))) {
    std::string footprintPath =
        (path + ".footprints[" + Twine(index) + "]").str();
    FootprintRecord &footprint = record.footprints.emplace_back();
    const json::Array *operands = list.getAsArray();
    if (!operands) {
      fail(footprintPath, "expected an array");
      continue;
    }
    for (auto [position, item] : llvm::enumerate(*operands))
      footprint.push_back(
          operand(item, Twine(footprintPath) + "[" + Twine(position) + "]"));
  }
  return record;
}

TaskRecord Decoder::task(const json::Value &value, const Twine &path) {
  const Object &from = object(&value, path);
  TaskRecord record;
  record.name = text(from, "name", path);
  record.location = text(from, "location", path);
  record.body = integer(from, "body", path);
  record.footprint = integer(from, "footprint", path);
  record.vctas = integer(from, "vctas", path, 1, kMaxVCTAs);
  record.grid = integers(from, "grid", path, /*low=*/1);
  record.values = integers(from, "values", path);
  return record;
}

SemaphoreRecord Decoder::semaphore(const json::Value &value,
                                   const Twine &path) {
  const Object &from = object(&value, path);
  SemaphoreRecord record;
  record.name = text(from, "name", path);
  record.arrivals = integer(from, "arrivals", path, 1);
  std::optional<HandoffKind> kind =
      symbolizeHandoffKind(text(from, "handoff", path));
  if (!kind)
    fail(path + ".handoff", "unknown kind");
  record.handoff = kind.value_or(HandoffKind::Counter);
  return record;
}

ValueRecord Decoder::intermediate(const json::Value &value, const Twine &path) {
  const json::Array *parts = value.getAsArray();
  if (!parts || parts->size() != 3) {
    fail(path, "expected slot, offset and bytes");
    return {};
  }
  SmallVector<int64_t> slots = manifest.getSlotBytes();
  int64_t slot = integer(&(*parts)[0], path, 0, slots.size() - 1);
  int64_t offset = integer(&(*parts)[1], path, 0, slots[slot]);
  int64_t bytes = integer(&(*parts)[2], path, 0, slots[slot] - offset);
  if (slot != 0 && slot != manifest.getPacketSlot())
    fail(path, "lies neither in the arena nor in the packets");
  return {slot, offset, bytes};
}

void Decoder::target(const Object &from) {
  manifest.backend = text(from, "backend", "target");
  manifest.sms = integer(from, "sms", "target", 1, kMaxSms);
  manifest.warps = integer(from, "warps", "target", 1);
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

/// Checks that the body, footprint and values of a task exist and fit the task.
void Decoder::checkTask(const TaskRecord &record, const Twine &path) {
  if (record.body >= static_cast<int64_t>(manifest.bodies.size()))
    return fail(path + ".body", "there is no such body");
  const BodyRecord &body = manifest.bodies[record.body];
  if (record.footprint >= static_cast<int64_t>(body.footprints.size()))
    return fail(path + ".footprint", "its body has no such footprint");
  if (countVCTAs(record.grid) != record.vctas)
    return fail(path + ".grid",
                "its extents do not multiply to the number of vCTAs");
  const FootprintRecord &footprint = body.footprints[record.footprint];
  if (record.values.size() != footprint.size())
    return fail(path + ".values", "expected one value for every operand");
  for (int64_t value : record.values)
    if (value >= static_cast<int64_t>(manifest.values.size()))
      return fail(path + ".values", "there is no such value");
  for (const OperandRecord &operand : footprint)
    for (AffineExpr offset : operand.offsets)
      for (unsigned dim = record.grid.size(); dim < kMaxDepth; ++dim)
        if (offset.isFunctionOfDim(dim))
          return fail(path + ".footprint",
                      "uses grid indices that the task does not have");
}

FailureOr<Manifest> Decoder::decode(const json::Value &value) {
  const Object &from = object(&value, "root");
  manifest.program = text(from, "program", "root");
  target(object(from.get("target"), "target"));
  manifest.arena = integer(from, "arena", "root");
  if (from.get("packets"))
    manifest.packets = integer(from, "packets", "root", 1);
  if (from.get("ranks"))
    manifest.ranks = integer(from, "ranks", "root", 2, manifest.sms);
  if (manifest.sms % manifest.ranks)
    fail("ranks", "do not share the SMs equally");
  if (from.get("domains")) {
    for (const json::Value &domain : array(from, "domains", "root"))
      manifest.domains.push_back(integer(&domain, "domains", 0, kMaxBytes));
    if (static_cast<int64_t>(manifest.domains.size()) != manifest.ranks)
      fail("domains", "expected one domain for every rank");
  }
  manifest.buffers = each(from, "buffers", "", &Decoder::buffer);
  manifest.bodies = each(from, "bodies", "", &Decoder::body);
  manifest.semaphores = each(from, "semaphores", "", &Decoder::semaphore);
  for (auto [index, buffer] : llvm::enumerate(manifest.buffers))
    manifest.values.push_back(
        {static_cast<int64_t>(index) + 1, 0, buffer.bytes});
  llvm::append_range(manifest.values,
                     each(from, "intermediates", "", &Decoder::intermediate));
  manifest.tasks = each(from, "tasks", "", &Decoder::task);
  if (failed)
    return failure();
  for (auto [index, record] : llvm::enumerate(manifest.tasks))
    checkTask(record, "tasks[" + Twine(index) + "]");
  if (failed)
    return failure();
  return std::move(manifest);
}

FailureOr<Manifest> validation::decodeManifest(StringRef text, Location loc) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return emitError(loc) << "manifest: not valid JSON: "
                          << llvm::toString(value.takeError());
  return Decoder(loc).decode(*value);
}
