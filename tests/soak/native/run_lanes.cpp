// Runs a cpu kernel without Python: one thread for each lane, as the cpu driver
// does. A sanitizer then sees the kernel and these few lines alone.
//
//   run_lanes KERNEL.so LAUNCH OUTPUT [SEED]
//
// With a seed, each lane of each launch begins after a random delay of up to 3
// ms. With a single order, ThreadSanitizer would miss a race if the signal of
// an unrelated semaphore happened to order the accesses.
//
// LAUNCH is a file of 64-bit words, little endian, by sanitize_kernels.py.
// First come the numbers of lanes, semaphores, launches and buffers, and the
// sizes of the four tables; then the tables; then size, alignment and bytes of
// each buffer. Buffer 0 is the arena. OUTPUT receives the bytes of all buffers.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <random>
#include <unistd.h>
#include <vector>

namespace {

/// Fields of ArkContext, in 64-bit words.
enum Field {
#define ARK_CONTEXT_FIELD(name, value) name = value,
#include "passes/kernel/KernelAbi.def"
};
#define ARK_CONSTANT(name, value) constexpr int64_t name = value;
#include "passes/kernel/KernelAbi.def"

constexpr uint64_t kTimeoutNs = 60'000'000'000;
constexpr size_t kStackBytes = 64 << 20, kCounterBytes = 8 * kCounterWords;
using Entry = int32_t (*)(const uint64_t *, int64_t);

struct Lane {
  Entry entry;
  const uint64_t *context;
  int64_t index;
  int32_t code;
  useconds_t delay;
};
constexpr uint32_t kMaxDelayMicroseconds = 3000;

[[noreturn]] void die(const char *message) {
  std::fprintf(stderr, "run_lanes: %s\n", message);
  std::exit(2);
}

/// Allocates each buffer separately, so that AddressSanitizer detects accesses
/// beyond its end.
uint8_t *allocate(uint64_t size, uint64_t alignment) {
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment < 64 ? 64 : alignment, size ? size : 1))
    die("out of memory");
  std::memset(memory, 0, size ? size : 1);
  return static_cast<uint8_t *>(memory);
}

class Reader {
public:
  explicit Reader(const char *path) : file(std::fopen(path, "rb")) {
    if (!file)
      die("cannot open the launch");
  }
  ~Reader() { std::fclose(file); }
  uint64_t word() {
    uint64_t value;
    bytes(&value, sizeof value);
    return value;
  }
  void bytes(void *to, uint64_t size) {
    if (size && std::fread(to, 1, size, file) != size)
      die("the launch is too short");
  }

private:
  std::FILE *file;
};

void *runLane(void *argument) {
  auto *lane = static_cast<Lane *>(argument);
  if (lane->delay)
    usleep(lane->delay);
  lane->code = lane->entry(lane->context, lane->index);
  return nullptr;
}

/// Starts all lanes, and waits for them. Without a generator no lane is
/// delayed. Returns the first code that is not 0.
int32_t launch(Entry entry, const uint64_t *context, uint64_t numLanes,
               std::mt19937 *random) {
  std::vector<Lane> lanes(numLanes);
  std::vector<pthread_t> threads(numLanes);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (uint64_t index = 0; index < numLanes; ++index) {
    useconds_t delay = random ? (*random)() % kMaxDelayMicroseconds : 0;
    lanes[index] = {entry, context, static_cast<int64_t>(index), 0, delay};
    if (pthread_create(&threads[index], &attributes, runLane, &lanes[index]))
      die("cannot start a thread");
  }
  int32_t code = 0;
  for (uint64_t index = 0; index < numLanes; ++index) {
    pthread_join(threads[index], nullptr);
    code = code ? code : lanes[index].code;
  }
  pthread_attr_destroy(&attributes);
  return code;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    die("usage: run_lanes KERNEL.so LAUNCH OUTPUT [SEED]");
  std::mt19937 random(argc == 5 ? std::atoi(argv[4]) : 0);
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    die(dlerror());
  auto entry = reinterpret_cast<Entry>(dlsym(library, "ark_kernel"));
  if (!entry)
    die("the kernel has no entry");

  Reader reader(argv[2]);
  uint64_t numLanes = reader.word(), numSemaphores = reader.word(),
           launches = reader.word(), numBuffers = reader.word();
  uint64_t tableSizes[4];
  for (uint64_t &size : tableSizes)
    size = reader.word();
  uint64_t context[kContextWords] = {};
  for (int table = 0; table < 4; ++table) {
    uint8_t *bytes = allocate(tableSizes[table], 64);
    reader.bytes(bytes, tableSizes[table]);
    context[kInstructions + table] = reinterpret_cast<uint64_t>(bytes);
  }
  std::vector<uint8_t *> buffers(numBuffers);
  std::vector<uint64_t> sizes(numBuffers);
  for (uint64_t index = 0; index < numBuffers; ++index) {
    sizes[index] = reader.word();
    buffers[index] = allocate(sizes[index], reader.word());
    reader.bytes(buffers[index], sizes[index]);
  }
  context[kBuffers] = reinterpret_cast<uint64_t>(buffers.data());
  context[kSemaphores] =
      reinterpret_cast<uint64_t>(allocate(numSemaphores * kCounterBytes, 64));
  auto *report = allocate(8 * sizeof(uint64_t), 64);
  context[kReport] = reinterpret_cast<uint64_t>(report);
  context[kStatus] = reinterpret_cast<uint64_t>(allocate(64, 64));
  context[kIterations] = 1;
  context[kTimeout] = kTimeoutNs;
  for (context[kEpoch] = 0; context[kEpoch] < launches; ++context[kEpoch])
    if (int32_t code =
            launch(entry, context, numLanes, argc == 5 ? &random : nullptr)) {
      std::fprintf(stderr, "run_lanes: launch %llu ended with %d\n",
                   static_cast<unsigned long long>(context[kEpoch]), code);
      return 3;
    }

  std::FILE *output = std::fopen(argv[3], "wb");
  if (!output)
    die("cannot write the output");
  for (uint64_t index = 0; index < numBuffers; ++index)
    if (sizes[index] &&
        std::fwrite(buffers[index], 1, sizes[index], output) != sizes[index])
      die("cannot write the output");
  std::fclose(output);
  return 0;
}
