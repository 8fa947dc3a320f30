//===- copies.cpp - Copies beside the threads -----------------------------===//

#include "instructions.h"

#include <cstring>

using namespace simt;

// Copies
//===----------------------------------------------------------------------===//

static void copyAll(const std::vector<Copy> &copies) {
  for (const Copy &copy : copies)
    memcpy(copy.target, copy.source, copy.bytes);
}

/// Not before it is waited for: what forgets to wait does not find it.
INSTRUCTION(cp_async_cg_shared_global_16) {
  getOpenCopies().push_back({args[0].as<void *>(), args[1].as<void *>(), 16});
}
INSTRUCTION(cp_async_commit_group) {
  getCopyGroups().push_back(std::move(getOpenCopies()));
  getOpenCopies().clear();
}
INSTRUCTION(cp_async_wait_group) {
  auto &groups = getCopyGroups();
  while ((int)groups.size() > args[0].as<int32_t>()) {
    copyAll(groups.front());
    groups.erase(groups.begin());
  }
}

namespace {
/// An object of mbarrier: its phase, and what is missing until that ends.
struct Arrivals {
  uint64_t phase : 1, expected : 15, pending : 16;
  int64_t bytes : 32;

  void endPhase() {
    if (pending != 0 || bytes != 0)
      return;
    ++phase;
    pending = expected;
  }
};
static_assert(sizeof(Arrivals) == 8);
} // namespace

INSTRUCTION(mbarrier_init_shared) {
  int32_t count = args[1].as<int32_t>();
  Arrivals &arrivals = *args[0].as<Arrivals *>();
  arrivals.phase = 0;
  arrivals.expected = arrivals.pending = count;
  arrivals.bytes = 0;
}
INSTRUCTION(mbarrier_inval_shared) {
  memset(args[0].as<void *>(), 0xff, sizeof(Arrivals));
}
INSTRUCTION(mbarrier_arrive_expect_tx_scope_cta_space_cta) {
  Arrivals &arrivals = *args[0].as<Arrivals *>();
  results[0].as<int64_t>() = 0;
  if (arrivals.pending == 0)
    fail("thread %d: arrives at an mbarrier that nobody else is missing at",
         getThread());
  arrivals.bytes += args[1].as<int32_t>();
  --arrivals.pending;
  arrivals.endPhase();
}
INSTRUCTION(mbarrier_try_wait_parity_scope_cta_space_cta) {
  yield();
  copySome();
  bool hasEnded =
      args[0].as<Arrivals *>()->phase != (args[1].as<uint32_t>() & 1);
  results[0].as<bool>() = hasEnded;
}
INSTRUCTION(cp_async_bulk_global_to_shared_cta) {
  int32_t bytes = args[3].as<int32_t>();
  uintptr_t target = args[0].as<uintptr_t>(), source = args[2].as<uintptr_t>();
  if ((target | source | bytes) % 16)
    fail("thread %d: a bulk copy of %d bytes from %#lx to %#lx is not aligned",
         getThread(), bytes, source, target);
  Arrivals *arrivals = args[1].as<Arrivals *>();
  copyLater([=] {
    memcpy(reinterpret_cast<void *>(target),
           reinterpret_cast<const void *>(source), bytes);
    arrivals->bytes -= bytes;
    arrivals->endPhase();
  });
}

/// There is no L2 here: it says whether there is memory to ask for.
INSTRUCTION(cp_async_bulk_prefetch_L2) {
  uintptr_t source = args[0].as<uintptr_t>();
  int32_t bytes = args[1].as<int32_t>();
  if ((source | bytes) % 16 || bytes <= 0)
    fail("thread %d: the L2 is asked for %d bytes at %#lx", getThread(), bytes,
         source);
  const volatile char *first = args[0].as<const volatile char *>();
  (void)first[0], (void)first[bytes - 1];
}

/// In instructions with a predicate it is the last operand.
INSTRUCTION(mbarrier_arrive_expect_tx_shared_b64) {
  if (args[2].as<bool>())
    mbarrier_arrive_expect_tx_scope_cta_space_cta(args, results);
}
INSTRUCTION(mbarrier_arrive_shared_cta_b64) {
  if (!args[1].as<bool>())
    return;
  args[1].as<int32_t>() = 0;
  mbarrier_arrive_expect_tx_scope_cta_space_cta(args, results);
}
INSTRUCTION(mbarrier_wait_parity_shared_b64) {
  do
    mbarrier_try_wait_parity_scope_cta_space_cta(args, results);
  while (!results[0].as<bool>());
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

namespace {
/// Of two dimensions, 16 bits an element, in rows of 128 bytes whose pieces of
/// 16 bytes are mixed; all else that a map says is part of the instruction's
/// name.
struct TensorMap {
  char *address;
  int64_t rowBytes;
  int32_t extents[2], box[2];
};
static_assert(sizeof(TensorMap) <= 128);
} // namespace

#define TENSOR_MAP_FIELD(name, type, field)                                    \
  INSTRUCTION(tensormap_replace_tile_##name) {                                 \
    args[0].as<TensorMap *>()->field = args[1].as<type>();                     \
  }
#define TENSOR_MAP_CONSTANT(name)                                              \
  INSTRUCTION(tensormap_replace_tile_##name) {}

TENSOR_MAP_FIELD(global_address_shared_cta_b1024_b64, char *, address)
TENSOR_MAP_FIELD(global_stride_shared_cta_b1024_b64_0, int64_t, rowBytes)
TENSOR_MAP_FIELD(global_dim_shared_cta_b1024_b32_0, int32_t, extents[0])
TENSOR_MAP_FIELD(global_dim_shared_cta_b1024_b32_1, int32_t, extents[1])
TENSOR_MAP_FIELD(box_dim_shared_cta_b1024_b32_1, int32_t, box[1])
INSTRUCTION(tensormap_replace_tile_box_dim_shared_cta_b1024_b32_0_64) {
  args[0].as<TensorMap *>()->box[0] = 64;
}
TENSOR_MAP_CONSTANT(rank_shared_cta_b1024_b32_1)
TENSOR_MAP_CONSTANT(element_stride_shared_cta_b1024_b32_0_1)
TENSOR_MAP_CONSTANT(element_stride_shared_cta_b1024_b32_1_1)
TENSOR_MAP_CONSTANT(elemtype_shared_cta_b1024_b32_1)
TENSOR_MAP_CONSTANT(interleave_layout_shared_cta_b1024_b32_0)
TENSOR_MAP_CONSTANT(swizzle_mode_shared_cta_b1024_b32_3)
TENSOR_MAP_CONSTANT(fill_mode_shared_cta_b1024_b32_0)

INSTRUCTION(
    tensormap_cp_fenceproxy_global_shared_cta_tensormap_generic_release_gpu_sync_aligned_128) {
  *args[0].as<TensorMap *>() = *args[1].as<TensorMap *>();
}
INSTRUCTION(fence_proxy_tensormap_generic_acquire_gpu) {}

/// A box from `row` and `column` on; what lies outside of the tensor is zero.
static void copyBox(const TensorMap &map, int64_t target, int row, int column) {
  for (int r = 0; r < map.box[1]; ++r)
    for (int c = 0; c < map.box[0]; ++c) {
      bool isInside = row + r >= 0 && row + r < map.extents[1] &&
                      column + c >= 0 && column + c < map.extents[0];
      int64_t place = target + (r * map.box[0] + c) * 2;
      place ^= (place >> 7 & 7) << 4;
      uint16_t element = 0;
      if (isInside)
        memcpy(&element,
               map.address + (row + r) * map.rowBytes + (column + c) * 2,
               sizeof(element));
      memcpy(getShared() + place, &element, sizeof(element));
    }
}

INSTRUCTION(
    cp_async_bulk_tensor_2d_shared_cluster_global_mbarrier_complete_tx_bytes) {
  if (!args[5].as<bool>())
    return;
  const TensorMap *map = args[1].as<TensorMap *>();
  int64_t target = get_shared_address(args[0].as<char *>());
  int32_t column = args[2].as<int32_t>(), row = args[3].as<int32_t>();
  Arrivals *arrivals = args[4].as<Arrivals *>();
  copyLater([=] {
    copyBox(*map, target, row, column);
    arrivals->bytes -= map->box[0] * map->box[1] * 2;
    arrivals->endPhase();
  });
}
