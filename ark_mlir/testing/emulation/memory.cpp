//===- memory.cpp - Special registers, numbers and memory -----------------===//

#include "instructions.h"

#include <chrono>
#include <cmath>

using namespace simt;

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

INSTRUCTION(read_ptx_sreg_tid_x) { results[0].as<int32_t>() = getThread(); }
INSTRUCTION(mov_u32_tid_x) { results[0].as<int32_t>() = getThread(); }
INSTRUCTION(mov_u32) { results[0].as<int32_t>() = args[0].as<int32_t>(); }
INSTRUCTION(read_ptx_sreg_ctaid_x) { results[0].as<int32_t>() = getCta(); }
INSTRUCTION(mov_u32_ctaid_x) { results[0].as<int32_t>() = getCta(); }

static int64_t getNanoseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Whoever looks at the time may be waiting for shared memory to change.
INSTRUCTION(read_ptx_sreg_globaltimer) {
  yield();
  results[0].as<int64_t>() = getNanoseconds();
}
INSTRUCTION(read_ptx_sreg_clock) {
  yield();
  results[0].as<int32_t>() = getNanoseconds();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Exact, where a GPU is off by some 2^-22.
INSTRUCTION(ex2_approx_f32) {
  results[0].as<float>() = std::exp2(args[0].as<float>());
}
INSTRUCTION(rsqrt_approx_f) {
  results[0].as<float>() = 1 / std::sqrt(double(args[0].as<float>()));
}

/// A float of 8 bits, of which `mantissa` are its fraction.
static float decode(uint8_t bits, int mantissa, int bias, bool hasInfinity) {
  int exponent = (bits & 0x7f) >> mantissa;
  int fraction = bits & ((1 << mantissa) - 1);
  int most = 0x7f >> mantissa;
  float sign = bits & 0x80 ? -1 : 1;
  if (exponent == most && hasInfinity)
    return fraction ? NAN : sign * INFINITY;
  if (!hasInfinity && (bits & 0x7f) == 0x7f)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(float(fraction), 1 - bias - mantissa);
  return sign * std::ldexp(float(fraction + (1 << mantissa)),
                           exponent - bias - mantissa);
}

template <typename Decode>
static void widenPair(Slot *args, Slot *results, const Decode &decode) {
  for (int i = 0; i < 2; ++i)
    (&results[0].as<_Float16>())[i] = decode((&args[0].as<uint8_t>())[i]);
}
INSTRUCTION(e4m3x2_to_f16x2_rn) {
  widenPair(args, results,
            [](uint8_t bits) { return decode(bits, 3, 7, false); });
}
INSTRUCTION(e5m2x2_to_f16x2_rn) {
  widenPair(args, results,
            [](uint8_t bits) { return decode(bits, 2, 15, true); });
}

//===----------------------------------------------------------------------===//
// Memory that others change
//===----------------------------------------------------------------------===//

template <typename T>
static T load(Slot &pointer) {
  yield();
  return __atomic_load_n(pointer.as<T *>(), __ATOMIC_SEQ_CST);
}

template <typename T>
static void store(Slot *args) {
  __atomic_store_n(args[0].as<T *>(), args[1].as<T>(), __ATOMIC_SEQ_CST);
}

INSTRUCTION(ld_relaxed_gpu_u64) {
  results[0].as<int64_t>() = load<int64_t>(args[0]);
}
INSTRUCTION(ld_acquire_gpu_u64) {
  results[0].as<int64_t>() = load<int64_t>(args[0]);
}
INSTRUCTION(ld_acquire_sys_u64) {
  results[0].as<int64_t>() = load<int64_t>(args[0]);
}

/// A word of a vector is as good as the vector: packets carry a tag in each.
template <typename T, int count>
static void loadVector(Slot *args, Slot *results) {
  yield();
  for (int i = 0; i < count; ++i)
    results[i].as<T>() =
        __atomic_load_n(args[0].as<T *>() + i, __ATOMIC_SEQ_CST);
}

INSTRUCTION(ld_relaxed_gpu_global_v2_u64) {
  loadVector<int64_t, 2>(args, results);
}
INSTRUCTION(ld_relaxed_gpu_global_v4_u32) {
  loadVector<int32_t, 4>(args, results);
}
INSTRUCTION(st_relaxed_gpu_global_u32) { store<int32_t>(args); }
INSTRUCTION(st_relaxed_gpu_global_u64) { store<int64_t>(args); }
INSTRUCTION(st_release_gpu_u64) { store<int64_t>(args); }
INSTRUCTION(st_release_sys_u64) { store<int64_t>(args); }
INSTRUCTION(red_release_gpu_add_u64) {
  __atomic_fetch_add(args[0].as<int64_t *>(), args[1].as<int64_t>(),
                     __ATOMIC_SEQ_CST);
}
INSTRUCTION(atom_acq_rel_gpu_cas_b64) {
  int64_t seen = args[1].as<int64_t>();
  __atomic_compare_exchange_n(args[0].as<int64_t *>(), &seen,
                              args[2].as<int64_t>(), /*weak=*/false,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  results[0].as<int64_t>() = seen;
}

/// Words that lie together, as their alignment has to be.
template <int count>
static void loadAligned(Slot *args, Slot *results) {
  if (args[0].as<uintptr_t>() % (4 * count))
    fail("thread %d: %d bytes from %p, which is not aligned", getThread(),
         4 * count, args[0].as<void *>());
  for (int i = 0; i < count; ++i)
    results[i].as<int32_t>() = args[0].as<int32_t *>()[i];
}
INSTRUCTION(ld_global_L1_no_allocate_L2_128B_v2_b32) {
  loadAligned<2>(args, results);
}
INSTRUCTION(ld_global_L1_no_allocate_L2_128B_v4_b32) {
  loadAligned<4>(args, results);
}

extern "C" int64_t get_shared_address(char *pointer) {
  return pointer - getShared();
}

INSTRUCTION(prefetch_global_L2) {}
INSTRUCTION(fence_proxy_async_shared_cta) {}
INSTRUCTION(fence_proxy_async_global) {}
