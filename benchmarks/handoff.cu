// Measures hand-offs between tasks of all SMs of an NVIDIA GPU, by kind, while weights stream.
//
// This handwritten kernel is not part of ark. It is a limit for comparison with ark's hand-offs: a
// chain of products of a row and a matrix, of which each SM has 16 rows. As in ark, weights are
// streamed through a ring for each warp, which runs ahead across products. benchmarks/handoff.py
// compiles and runs the kernel:
//
//     nvcc -O3 -std=c++17 -arch=sm_90a -o handoff benchmarks/handoff.cu && ./handoff
//
// Prints a line of JSON for every kind and ring.
//
// none     no hand-off: every product has the same row; the baseline of the other kinds
// barrier  one counter at which all SMs arrive; then the row is read
// packet   values carry the number of their product, and readers poll the values themselves
// cluster  through the shared memory of a cluster of 8 SMs; there is no exchange between clusters
// both     packets between clusters of 2; each SM polls for half of them and passes it to the other

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>

namespace cg = cooperative_groups;

enum Kind { NONE, BARRIER, PACKET, CLUSTER, BOTH };
static const char *const kNames[] = {"none", "barrier", "packet", "cluster", "both"};

constexpr int kWarps = 16, kThreads = 32 * kWarps;
constexpr int kColumns = 2048, kRows = 16;
constexpr int kChunk = 1024;                       // values; two make a row
constexpr int kChunks = kRows * kColumns / kChunk; // of one SM and product
constexpr int kMatrices = 48;                      // used in turn; more than any cache holds

static void check(cudaError_t code, const char *call) {
  if (code == cudaSuccess)
    return;
  fprintf(stderr, "handoff: %s: %s\n", call, cudaGetErrorString(code));
  exit(1);
}

struct Arguments {
  const __nv_bfloat16 *weights;
  const uint32_t *first;         // the first row, two values per word
  uint32_t *rows;                // two rows, used in turn
  unsigned long long *packets;   // likewise; two values and a number each
  unsigned long long *counter;
  uint32_t *result;
  int products;
};

__device__ uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void expect(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ void copy(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          sharedAddress(to)),
      "l"(from), "r"(bytes), "r"(sharedAddress(barrier))
      : "memory");
}

__device__ void await(uint64_t *barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\nagain:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra again;\n}" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}

// Every wait has a limit, so that a faulty kernel ends.
__device__ void watch(long long begin) {
  if (clock64() - begin > 4000000000ll)
    __trap();
}

template <int kSlots> struct Shared {
  __nv_bfloat16 ring[kWarps][kSlots][kChunk];
  uint32_t row[2][kColumns / 2];
  float sums[kChunks];
  uint64_t full[kWarps][kSlots];
};

// Returns two packets, of two values and a number each, once both have this number.
__device__ uint2 poll(const unsigned long long *packets, uint32_t number) {
  long long begin = clock64();
  uint32_t a, b, c, d;
  for (int tries = 1;; ++tries) {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(packets)
                 : "memory");
    if (b == number && d == number)
      return {a, c};
    if (tries % 1024 == 0)
      watch(begin);
  }
}

template <int kKind, int kSlots>
__global__ void __launch_bounds__(kThreads, 1) chain(Arguments arguments) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto &shared = *reinterpret_cast<Shared<kSlots> *>(memory);
  const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, cta = blockIdx.x;
  const int ctas = gridDim.x;
  auto cluster = cg::this_cluster();

  if (threadIdx.x == 0)
    for (auto &ring : shared.full)
      for (uint64_t &full : ring)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&full)));
  for (int turn = 0; turn < 2; ++turn)
    for (int i = threadIdx.x; i < kColumns / 2; i += kThreads)
      shared.row[turn][i] = arguments.first[i];
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  cluster.sync();

  // Chunks of a warp, in the order in which it reads them.
  constexpr int kPerWarp = kChunks / kWarps;
  const int chunks = arguments.products * kPerWarp;
  auto request = [&](int number) {
    if (thread != 0 || number >= chunks)
      return;
    int product = number / kPerWarp % kMatrices;
    int chunk = warp + number % kPerWarp * kWarps;
    size_t row = (size_t(product) * ctas + cta) * kRows + chunk / 2;
    uint64_t *full = &shared.full[warp][number % kSlots];
    expect(full, sizeof(__nv_bfloat16) * kChunk);
    copy(shared.ring[warp][number % kSlots],
         arguments.weights + row * kColumns + chunk % 2 * kChunk, sizeof(__nv_bfloat16) * kChunk,
         full);
  };
  for (int number = 0; number < kSlots; ++number)
    request(number);

  for (int product = 0; product < arguments.products; ++product) {
    const int turn = kKind == NONE ? 0 : product % 2;
    for (int k = 0; k < kPerWarp; ++k) {
      int number = product * kPerWarp + k, slot = number % kSlots;
      int chunk = warp + k * kWarps;
      await(&shared.full[warp][slot], number / kSlots % 2);
      auto weights = reinterpret_cast<const uint4 *>(shared.ring[warp][slot]);
      auto row = reinterpret_cast<const uint4 *>(shared.row[turn]) + chunk % 2 * kChunk / 8;
      float sum = 0;
      for (int i = thread; i < kChunk / 8; i += 32) {
        uint4 w = weights[i], x = row[i];
        const uint32_t ws[] = {w.x, w.y, w.z, w.w}, xs[] = {x.x, x.y, x.z, x.w};
        for (int j = 0; j < 4; ++j) {
          sum += __uint_as_float(ws[j] << 16) * __uint_as_float(xs[j] << 16);
          sum += __uint_as_float(ws[j] & 0xffff0000u) * __uint_as_float(xs[j] & 0xffff0000u);
        }
      }
      __syncwarp();
      request(number + kSlots);
      for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(~0u, sum, offset);
      if (thread == 0)
        shared.sums[chunk] = sum;
    }
    __syncthreads();

    // Each thread of the first warp has two values.
    uint32_t values = 0;
    if (threadIdx.x < kRows / 2) {
      const float *sums = shared.sums + 4 * threadIdx.x;
      __nv_bfloat162 pair = __floats2bfloat162_rn(sums[0] + sums[1], sums[2] + sums[3]);
      values = *reinterpret_cast<uint32_t *>(&pair);
    }
    const int next = (product + 1) % 2, index = cta * (kRows / 2) + threadIdx.x;
    const bool hasValues = threadIdx.x < kRows / 2 && index < kColumns / 2;
    const uint32_t productNumber = product + 1;
    if (kKind == NONE) {
      if (hasValues)
        arguments.rows[index] = values;
      __syncthreads();
    } else if (kKind == BARRIER) {
      uint32_t *destination = arguments.rows + next * (kColumns / 2);
      if (hasValues)
        destination[index] = values;
      __syncthreads();
      if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(arguments.counter) : "memory");
        unsigned long long seen = 0, wanted = (unsigned long long)productNumber * ctas;
        long long begin = clock64();
        while (seen < wanted) {
          asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                       : "=l"(seen)
                       : "l"(arguments.counter)
                       : "memory");
          watch(begin);
        }
      }
      __syncthreads();
      for (int i = threadIdx.x; i < kColumns / 2; i += kThreads)
        shared.row[next][i] = __ldcg(destination + i);
      __syncthreads();
    } else if (kKind == CLUSTER) {
      int ranks = cluster.num_blocks(), rank = cluster.block_rank();
      if (threadIdx.x < kRows / 2)
        for (int other = 0; other < ranks; ++other)
          cluster.map_shared_rank(shared.row[next], other)[rank * (kRows / 2) + threadIdx.x] =
              values;
      cluster.sync();
    } else {
      unsigned long long *destination = arguments.packets + next * (kColumns / 2);
      if (hasValues)
        asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(destination + index),
                     "r"(values), "r"(productNumber)
                     : "memory");
      if (kKind == PACKET) {
        for (int i = threadIdx.x; i < kColumns / 4; i += kThreads)
          reinterpret_cast<uint2 *>(shared.row[next])[i] = poll(destination + 2 * i, productNumber);
        __syncthreads();
      } else {
        int ranks = cluster.num_blocks(), share = kColumns / 4 / ranks;
        int begin = cluster.block_rank() * share;
        for (int i = begin + threadIdx.x; i < begin + share; i += kThreads) {
          uint2 pair = poll(destination + 2 * i, productNumber);
          for (int other = 0; other < ranks; ++other)
            reinterpret_cast<uint2 *>(cluster.map_shared_rank(shared.row[next], other))[i] = pair;
        }
        cluster.sync();
      }
    }
  }
  if (cta == 0)
    for (int i = threadIdx.x; i < kColumns / 2; i += kThreads)
      arguments.result[i] = shared.row[kKind == NONE ? 0 : arguments.products % 2][i];
  cluster.sync();
}

__global__ void fill(__nv_bfloat16 *values, size_t count, float scale) {
  size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    uint32_t bits = uint32_t(i) * 2654435761u;
    bits ^= bits >> 15;
    bits *= 2246822519u;
    bits ^= bits >> 13;
    values[i] = __float2bfloat16(scale * (float(bits) * (2.0f / 4294967296.0f) - 1.0f));
  }
}

struct Arm {
  Kind kind;
  int slots, clusterSize;
  const void *function;
  size_t memory;
  std::vector<float> times;
  std::vector<uint32_t> result;
};

template <int kKind, int kSlots> Arm makeArm(int clusterSize) {
  auto function = reinterpret_cast<const void *>(&chain<kKind, kSlots>);
  Arm arm = {Kind(kKind), kSlots, clusterSize, function, sizeof(Shared<kSlots>), {}, {}};
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             int(arm.memory)),
        "shared memory");
  return arm;
}

template <int kSlots> void addArms(std::vector<Arm> &arms) {
  arms.push_back(makeArm<NONE, kSlots>(1));
  arms.push_back(makeArm<BARRIER, kSlots>(1));
  arms.push_back(makeArm<PACKET, kSlots>(1));
  arms.push_back(makeArm<NONE, kSlots>(2));
  arms.push_back(makeArm<BOTH, kSlots>(2));
  arms.push_back(makeArm<NONE, kSlots>(8));
  arms.push_back(makeArm<CLUSTER, kSlots>(8));
}

// Returns the number of CTAs that run concurrently. The row needs 128 of them.
static int countCtas(const Arm &arm, int sms) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(sms / arm.clusterSize * arm.clusterSize);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = arm.memory;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {unsigned(arm.clusterSize), 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, arm.function, &config), "occupancy");
  return std::min(clusters * arm.clusterSize, sms / arm.clusterSize * arm.clusterSize);
}

static float launch(Arm &arm, Arguments arguments, int ctas, cudaStream_t stream) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  check(cudaMemsetAsync(arguments.counter, 0, 8, stream), "memset");
  check(cudaMemsetAsync(arguments.packets, 0, 8 * kColumns, stream), "memset");
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = arm.memory;
  config.stream = stream;
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {unsigned(arm.clusterSize), 1, 1};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  void *parameters[] = {&arguments};
  check(cudaEventRecord(begin, stream), "event");
  check(cudaLaunchKernelExC(&config, arm.function, parameters), "launch");
  check(cudaEventRecord(end, stream), "event");
  check(cudaEventSynchronize(end), "kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "time");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds;
}

int main() {
  constexpr int kFew = 64, kMany = 448, kSamples = 9;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "device");
  int sms = properties.multiProcessorCount;
  Arguments arguments = {};
  size_t count = size_t(kMatrices) * sms * kRows * kColumns;
  __nv_bfloat16 *weights, *first;
  check(cudaMalloc(&weights, 2 * count), "weights");
  check(cudaMalloc(&first, 2 * kColumns), "row");
  // Rows keep their scale: the variance of a weight is the inverse of the number of columns.
  fill<<<1024, 256>>>(weights, count, sqrtf(3.0f / kColumns));
  fill<<<1, 256>>>(first, kColumns, 1.0f);
  arguments.weights = weights;
  arguments.first = reinterpret_cast<uint32_t *>(first);
  check(cudaMalloc(&arguments.rows, 8 * kColumns), "rows");
  check(cudaMalloc(&arguments.packets, 8 * kColumns), "packets");
  check(cudaMalloc(&arguments.counter, 8), "counter");
  check(cudaMalloc(&arguments.result, 2 * kColumns), "result");
  check(cudaDeviceSynchronize(), "fill");
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "stream");

  std::vector<Arm> arms;
  addArms<2>(arms);
  addArms<5>(arms);
  std::vector<int> ctas;
  for (Arm &arm : arms)
    ctas.push_back(countCtas(arm, sms));
  for (int sample = 0; sample <= kSamples; ++sample)
    for (size_t i = 0; i < arms.size(); ++i) {
      // The difference between the long and the short run excludes start and end.
      float times[2];
      for (int products : {kFew, kMany}) {
        arguments.products = products;
        times[products == kMany] = launch(arms[i], arguments, ctas[i], stream);
      }
      if (sample > 0)
        arms[i].times.push_back(1e3f * (times[1] - times[0]) / (kMany - kFew));
      arms[i].result.resize(kColumns / 2);
      check(cudaMemcpy(arms[i].result.data(), arguments.result, 2 * kColumns,
                       cudaMemcpyDeviceToHost),
            "result");
    }

  bool good = true;
  float alone = 0;
  const Arm *barrier = nullptr;
  for (size_t i = 0; i < arms.size(); ++i) {
    Arm &arm = arms[i];
    std::nth_element(arm.times.begin(), arm.times.begin() + kSamples / 2, arm.times.end());
    float median = arm.times[kSamples / 2];
    if (arm.kind == NONE)
      alone = median;
    if (arm.kind == BARRIER)
      barrier = &arm;
    // All kinds that hand the whole row over have the same result.
    if ((arm.kind == PACKET || arm.kind == BOTH) && barrier && arm.result != barrier->result)
      good = false;
    printf("{\"kind\": \"%s\", \"ring_kb\": %d, \"cluster\": %d, \"sms\": %d, \"us\": %.3f, "
           "\"exposed_us\": %.3f}\n",
           kNames[arm.kind], arm.slots * kWarps * kChunk * 2 / 1024, arm.clusterSize, ctas[i],
           median, median - alone);
  }
  if (!good)
    fprintf(stderr, "handoff: kinds of hand-off give other results\n");
  return good ? 0 : 1;
}
