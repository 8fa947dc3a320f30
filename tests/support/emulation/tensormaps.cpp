//===- tensormaps.cpp - Copies of boxes -----------------------------------===//

#include "copies.h"
#include "memory.h"
#include "shared.h"

#include <cstring>
#include <map>
#include <memory>

using namespace simt;

namespace {
/// Tensor maps of two dimensions, with elements of 16 bits, in rows of 128
/// bytes with swizzled units of 16 bytes. The name of the instruction states
/// all other properties.
struct TensorMap {
  char *address;
  int64_t rowBytes;
  int32_t extents[2], box[2];
};
static_assert(sizeof(TensorMap) <= 128);
constexpr int64_t kMapBytes = 128, kRowBytes = 128, kUnitBytes = 16;

/// The progress of a tensor map from global memory to copies, over all launches
/// so far. The writer fences and releases, and the copying thread acquires.
enum class Way { Written, Released, Acquired };
std::map<const void *, Way> ways;
} // namespace

//===----------------------------------------------------------------------===//
// Fields of maps
//===----------------------------------------------------------------------===//

static TensorMap &getMap(Slot &slot) {
  char *map = slot.as<char *>();
  checkShared("use of a tensor map", map, kMapBytes, kMapBytes);
  noteGenericWrite(map, kMapBytes);
  return *slot.as<TensorMap *>();
}

#define TENSOR_MAP_FIELD(name, type, field)                                    \
  INSTRUCTION(tensormap_replace_tile_##name) {                                 \
    getMap(args[0]).field = args[1].as<type>();                                \
  }
#define TENSOR_MAP_CONSTANT(name)                                              \
  INSTRUCTION(tensormap_replace_tile_##name) { getMap(args[0]); }

TENSOR_MAP_FIELD(global_address_shared_cta_b1024_b64, char *, address)
TENSOR_MAP_FIELD(global_stride_shared_cta_b1024_b64_0, int64_t, rowBytes)
TENSOR_MAP_FIELD(global_dim_shared_cta_b1024_b32_0, int32_t, extents[0])
TENSOR_MAP_FIELD(global_dim_shared_cta_b1024_b32_1, int32_t, extents[1])
TENSOR_MAP_FIELD(box_dim_shared_cta_b1024_b32_1, int32_t, box[1])
INSTRUCTION(tensormap_replace_tile_box_dim_shared_cta_b1024_b32_0_64) {
  getMap(args[0]).box[0] = 64;
}
TENSOR_MAP_CONSTANT(rank_shared_cta_b1024_b32_1)
TENSOR_MAP_CONSTANT(element_stride_shared_cta_b1024_b32_0_1)
TENSOR_MAP_CONSTANT(element_stride_shared_cta_b1024_b32_1_1)
TENSOR_MAP_CONSTANT(elemtype_shared_cta_b1024_b32_1)
TENSOR_MAP_CONSTANT(interleave_layout_shared_cta_b1024_b32_0)
TENSOR_MAP_CONSTANT(swizzle_mode_shared_cta_b1024_b32_3)
TENSOR_MAP_CONSTANT(fill_mode_shared_cta_b1024_b32_0)

//===----------------------------------------------------------------------===//
// Tensor maps between writers and copies
//===----------------------------------------------------------------------===//

/// The threads of a warp copy a map together, at a single time.
INSTRUCTION(
    tensormap_cp_fenceproxy_global_shared_cta_tensormap_generic_release_gpu_sync_aligned_128) {
  void *to = args[0].as<void *>();
  checkGlobal("copy of a tensor map", to, kMapBytes, kMapBytes);
  checkShared("copy of a tensor map", args[1].as<void *>(), kMapBytes,
              kMapBytes);
  TensorMap seen = *args[1].as<TensorMap *>();
  Slot own;
  own.as<TensorMap *>() = &seen;
  ways[to] = isDropped() ? Way::Written : Way::Released;
  convergeWarp(~0u, "tensormap.cp_fenceproxy", &own, nullptr,
               [to](Slot *const *args, Slot *const *) {
                 TensorMap *chosen =
                     args[draw() % kWarpSize]->as<TensorMap *>();
                 memcpy(to, chosen, sizeof(TensorMap));
               });
}

INSTRUCTION(fence_proxy_tensormap_generic_acquire_gpu) {
  Way &way = ways[args[0].as<void *>()];
  if (!isDropped() && way == Way::Released)
    way = Way::Acquired;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Copies a row of the box; elements outside of the tensor are zero.
static void copyRow(const TensorMap &map, char *target, int boxRow, int row,
                    int column) {
  char elements[kRowBytes] = {};
  bool isInside = row >= 0 && row < map.extents[1] && column >= 0;
  int count = std::min(map.box[0], map.extents[0] - column);
  if (isInside && count > 0)
    readWeak(elements, map.address + row * map.rowBytes + column * 2, count * 2,
             Proxy::Async);
  for (int64_t unit = 0; unit < kRowBytes; unit += kUnitBytes) {
    int64_t offset = target - getShared() + boxRow * kRowBytes + unit;
    offset ^= (offset >> 7 & 7) << 4;
    memcpy(getShared() + offset, elements + unit, kUnitBytes);
  }
}

INSTRUCTION(
    cp_async_bulk_tensor_2d_shared_cluster_global_mbarrier_complete_tx_bytes) {
  if (!args[5].as<bool>())
    return;
  if (ways[args[1].as<void *>()] != Way::Acquired)
    fail("a copy by a tensor map that no proxy fence has shown to it");
  TensorMap map = *args[1].as<TensorMap *>();
  char *target = args[0].as<char *>();
  int column = args[2].as<int32_t>(), row = args[3].as<int32_t>();
  int64_t bytes = int64_t(map.box[0]) * map.box[1] * 2;
  if (map.box[0] * 2 != kRowBytes || bytes <= 0)
    fail("a box of %d by %d elements", map.box[1], map.box[0]);
  checkShared("copy of a box", target, bytes, kRowBytes);
  startBulkCopy(target, bytes, args[4].as<void *>(), [=] {
    for (int i = 0; i < map.box[1]; ++i)
      copyRow(map, target, i, row + i, column);
  });
}
