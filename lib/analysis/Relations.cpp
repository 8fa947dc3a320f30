//===- Relations.cpp - Overlap of the regions of two operands -------------===//

#include "lib/analysis/Relations.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Maximum number of byte intervals of one operand for an exact comparison;
/// beyond the limit the comparison is conservative. Row-major tiles of a 32768
/// x 32768 matrix stay below the limit. A transposed view of single elements
/// may exceed it.
static constexpr int64_t kMaxIntervals = int64_t(1) << 23;

//===----------------------------------------------------------------------===//
// Structural keys
//===----------------------------------------------------------------------===//

static void appendKey(std::vector<int64_t> &key, ArrayRef<int64_t> values) {
  key.push_back(values.size());
  key.insert(key.end(), values.begin(), values.end());
}

/// Returns a key of the boxes of an access. An attribute is unique in its
/// context, so its address identifies it.
static std::vector<int64_t> getBoxesKey(const Access &access) {
  std::vector<int64_t> key = {
      reinterpret_cast<intptr_t>(access.region.getAsOpaquePointer())};
  appendKey(key, access.grid);
  appendKey(key, access.view.shape);
  return key;
}

static std::vector<int64_t> getBytesKey(const Access &access) {
  std::vector<int64_t> key = getBoxesKey(access);
  appendKey(key, access.view.strides);
  key.push_back(access.view.elementBytes);
  return key;
}

/// Returns a key of two accesses. The key contains the distance between both
/// views, not their offsets in the buffer.
static std::vector<int64_t> getPairKey(const Access &a, const Access &b) {
  std::vector<int64_t> key = getBytesKey(a);
  std::vector<int64_t> other = getBytesKey(b);
  key.insert(key.end(), other.begin(), other.end());
  key.push_back(b.view.byteOffset - a.view.byteOffset);
  return key;
}

//===----------------------------------------------------------------------===//
// Overlap of boxes
//===----------------------------------------------------------------------===//

namespace {
/// For every box of the consumer, the boxes of the producer that overlap it.
struct BoxPairs {
  std::vector<SmallVector<uint32_t, 2>> producersOf;
  bool exact = true;
};

/// Ranges with their owners, sorted for overlap queries.
class SortedRanges {
public:
  using Entry = std::pair<Interval, uint32_t>;

  explicit SortedRanges(std::vector<Entry> ranges)
      : entries(std::move(ranges)) {
    llvm::sort(entries);
    int64_t highest = std::numeric_limits<int64_t>::min();
    for (auto &[range, owner] : entries)
      highestEnd.push_back(highest = std::max(highest, range.second));
  }

  unsigned countDistinct() const {
    unsigned count = 0;
    for (size_t i = 0; i < entries.size(); ++i)
      count += i == 0 || entries[i].first != entries[i - 1].first;
    return count;
  }

  void forEachOverlapping(Interval query,
                          llvm::function_ref<void(uint32_t)> visit) const;

private:
  std::vector<Entry> entries;
  std::vector<int64_t> highestEnd;
};
} // namespace

static bool overlaps(Interval a, Interval b) {
  return std::max(a.first, b.first) < std::min(a.second, b.second);
}

void SortedRanges::forEachOverlapping(
    Interval query, llvm::function_ref<void(uint32_t)> visit) const {
  auto startsBefore = [&](const Entry &entry) {
    return entry.first.first < query.second;
  };
  size_t i = llvm::partition_point(entries, startsBefore) - entries.begin();
  // All ranges before `i` start before the end of the query. The loop stops
  // when no remaining range ends after the start of the query.
  for (; i > 0 && highestEnd[i - 1] > query.first; --i)
    if (overlaps(entries[i - 1].first, query))
      visit(entries[i - 1].second);
}

/// Returns true if equal coordinates are equal bytes in both views, and
/// different coordinates are different bytes.
static bool shareCoordinates(const BufferView &a, const BufferView &b) {
  if (a.byteOffset != b.byteOffset || a.strides != b.strides ||
      a.elementBytes != b.elementBytes)
    return false;
  SmallVector<Interval, 4> dims;
  for (size_t dim = 0; dim < a.strides.size(); ++dim)
    if (int64_t extent = std::max(a.shape[dim], b.shape[dim]); extent > 1)
      dims.push_back({a.strides[dim], extent});
  llvm::sort(dims);
  // Each dimension must step over the whole span of the smaller ones.
  int64_t span = 1;
  for (auto [stride, extent] : dims) {
    if (stride < span)
      return false;
    span += (extent - 1) * stride;
  }
  return true;
}

/// Finds overlapping boxes dimension by dimension, in the coordinates that both
/// views share.
static BoxPairs overlapInCoordinates(const RegionBoxes &producer,
                                     const RegionBoxes &consumer) {
  BoxPairs pairs;
  pairs.producersOf.resize(consumer.getNumBoxes());
  unsigned rank = consumer.getRank();
  if (rank == 0) {
    pairs.producersOf[0].push_back(0);
    return pairs;
  }
  // Candidates come from the dimension with the most distinct ranges.
  std::optional<SortedRanges> candidates;
  unsigned chosen = 0, most = 0;
  for (unsigned dim = 0; dim < rank; ++dim) {
    std::vector<SortedRanges::Entry> entries;
    for (unsigned box = 0; box < producer.getNumBoxes(); ++box)
      entries.push_back({producer.getBox(box)[dim], box});
    SortedRanges ranges(std::move(entries));
    if (unsigned distinct = ranges.countDistinct(); distinct > most) {
      most = distinct;
      chosen = dim;
      candidates = std::move(ranges);
    }
  }
  for (unsigned box = 0; box < consumer.getNumBoxes(); ++box) {
    ArrayRef<Interval> query = consumer.getBox(box);
    candidates->forEachOverlapping(query[chosen], [&](uint32_t candidate) {
      if (llvm::all_of(llvm::zip(producer.getBox(candidate), query),
                       [](auto pair) {
                         return overlaps(std::get<0>(pair), std::get<1>(pair));
                       }))
        pairs.producersOf[box].push_back(candidate);
    });
  }
  return pairs;
}

/// Appends the bytes of one box, moved by `shift`. If `exact` is false, appends
/// the hull of these bytes.
static void appendBytes(ArrayRef<Interval> box, const BufferView &view,
                        int64_t shift, bool exact,
                        SmallVectorImpl<Interval> &bytes) {
  size_t first = bytes.size();
  if (exact)
    appendByteIntervals(box, view, bytes);
  else if (Interval hull = getByteHull(box, view); hull.first < hull.second)
    bytes.push_back(hull);
  for (Interval &range : llvm::drop_begin(bytes, first)) {
    range.first += shift;
    range.second += shift;
  }
}

static int64_t countIntervals(const RegionBoxes &boxes,
                              const BufferView &view) {
  int64_t count = 0;
  // Stops beyond the limit, because the sum may exceed 64 bits.
  for (unsigned box = 0; box < boxes.getNumBoxes() && count <= kMaxIntervals;
       ++box)
    count += countByteIntervals(boxes.getBox(box), view);
  return count;
}

/// Finds overlapping boxes byte by byte, for views that lay out the same bytes
/// differently.
static BoxPairs overlapInBytes(const RegionBoxes &producer,
                               const BufferView &producerView,
                               const RegionBoxes &consumer,
                               const BufferView &consumerView) {
  BoxPairs pairs;
  pairs.exact = countIntervals(producer, producerView) <= kMaxIntervals &&
                countIntervals(consumer, consumerView) <= kMaxIntervals;
  SmallVector<Interval> bytes;
  std::vector<SortedRanges::Entry> entries;
  for (unsigned box = 0; box < producer.getNumBoxes(); ++box) {
    bytes.clear();
    appendBytes(producer.getBox(box), producerView, 0, pairs.exact, bytes);
    for (Interval range : bytes)
      entries.push_back({range, box});
  }
  SortedRanges ranges(std::move(entries));

  int64_t shift = consumerView.byteOffset - producerView.byteOffset;
  pairs.producersOf.resize(consumer.getNumBoxes());
  // For every box of the producer, the last box of the consumer that overlaps
  // it.
  std::vector<unsigned> foundFor(producer.getNumBoxes(), ~0u);
  for (unsigned box = 0; box < consumer.getNumBoxes(); ++box) {
    bytes.clear();
    appendBytes(consumer.getBox(box), consumerView, shift, pairs.exact, bytes);
    for (Interval query : bytes)
      ranges.forEachOverlapping(query, [&](uint32_t candidate) {
        if (foundFor[candidate] == box)
          return;
        foundFor[candidate] = box;
        pairs.producersOf[box].push_back(candidate);
      });
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// From boxes to vCTAs
//===----------------------------------------------------------------------===//

namespace {
/// Builds a relation that stores equal sets once.
class RelationBuilder {
public:
  explicit RelationBuilder(int64_t consumers)
      : relation(std::make_shared<Relation>()) {
    relation->setOf.assign(consumers, 0);
    intern({});
  }

  uint32_t intern(const Relation::VCTAs &set) {
    SmallVector<int64_t> tuple;
    for (auto [begin, end] : set)
      tuple.append({begin, end});
    auto [index, isNew] = indexOfSet.insert(tuple);
    if (isNew)
      relation->sets.push_back(set);
    return index;
  }

  std::shared_ptr<Relation> relation;

private:
  TupleIndices indexOfSet;
};
} // namespace

static std::shared_ptr<const Relation>
buildRelation(const BoxPairs &pairs, const RegionBoxes &producer,
              const RegionBoxes &consumer) {
  RelationBuilder builder(consumer.getNumVCTAs());
  builder.relation->exact = pairs.exact;
  Relation::VCTAs set;
  for (auto [box, producers] : llvm::enumerate(pairs.producersOf)) {
    set.clear();
    for (uint32_t other : producers)
      for (int64_t vcta : producer.getVCTAsOf(other))
        set.push_back({vcta, vcta + 1});
    mergeRanges(set);
    uint32_t setIndex = builder.intern(set);
    for (int64_t vcta : consumer.getVCTAsOf(box))
      builder.relation->setOf[vcta] = setIndex;
  }
  return builder.relation;
}

/// Keeps in every set only the vCTAs below the consumer's own index.
static std::shared_ptr<const Relation> keepLower(const Relation &overlap) {
  RelationBuilder builder(overlap.setOf.size());
  builder.relation->exact = overlap.exact;
  Relation::VCTAs lower;
  for (int64_t vcta = 0, e = overlap.setOf.size(); vcta < e; ++vcta) {
    lower.clear();
    for (auto [begin, end] : overlap.getProducersOf(vcta))
      if (begin < vcta)
        lower.push_back({begin, std::min(end, vcta)});
    builder.relation->setOf[vcta] = builder.intern(lower);
  }
  return builder.relation;
}

//===----------------------------------------------------------------------===//
// RelationCache
//===----------------------------------------------------------------------===//

const RegionBoxes &RelationCache::getBoxes(const Access &access) {
  std::unique_ptr<RegionBoxes> &entry = boxes[getBoxesKey(access)];
  if (!entry)
    entry = std::make_unique<RegionBoxes>(access.region, access.grid,
                                          access.view.shape);
  return *entry;
}

std::shared_ptr<const Relation>
RelationCache::getOverlap(const Access &producer, const Access &consumer) {
  std::shared_ptr<const Relation> &entry =
      overlaps[getPairKey(producer, consumer)];
  if (entry)
    return entry;
  const RegionBoxes &producerBoxes = getBoxes(producer);
  const RegionBoxes &consumerBoxes = getBoxes(consumer);
  BoxPairs pairs = shareCoordinates(producer.view, consumer.view)
                       ? overlapInCoordinates(producerBoxes, consumerBoxes)
                       : overlapInBytes(producerBoxes, producer.view,
                                        consumerBoxes, consumer.view);
  return entry = buildRelation(pairs, producerBoxes, consumerBoxes);
}

std::shared_ptr<const Relation>
RelationCache::getOverlapWithin(const Access &producer,
                                const Access &consumer) {
  std::shared_ptr<const Relation> &entry =
      overlapsWithin[getPairKey(producer, consumer)];
  if (!entry)
    entry = keepLower(*getOverlap(producer, consumer));
  return entry;
}

const Footprint &RelationCache::getFootprint(const Access &access) {
  auto [entry, isNew] = footprints.try_emplace(getBytesKey(access));
  Footprint &footprint = entry->second;
  if (!isNew)
    return footprint;
  const RegionBoxes &accessBoxes = getBoxes(access);
  // The boxes of most tasks form one larger box, which breaks into fewer
  // intervals than its parts.
  SmallVector<Interval> whole;
  if (accessBoxes.getUnion(whole) &&
      countByteIntervals(whole, access.view) <= kMaxIntervals) {
    appendByteIntervals(whole, access.view, footprint.bytes);
    mergeRanges(footprint.bytes);
    return footprint;
  }
  footprint.exact = countIntervals(accessBoxes, access.view) <= kMaxIntervals;
  for (unsigned box = 0; box < accessBoxes.getNumBoxes(); ++box)
    appendBytes(accessBoxes.getBox(box), access.view, 0, footprint.exact,
                footprint.bytes);
  mergeRanges(footprint.bytes);
  return footprint;
}
