// A library with the name of HIP's, for hip-python: memory of the host, lanes as threads.
//
// Modules are shared objects of the host. A launch returns at once, and so does a copy behind a
// launch: a thread waits for the earlier work of the stream. Any call may come from any thread.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101, kNotFound = 500, kNotReady = 600 };
enum { kCodesField = 12, kMostBlocks = 4096, kDevices = 2, kPage = 2 << 20 };
enum { kUncached = 1 << 30, kOfDevice = 1, kReadWrite = 3, kFile = 1 };

typedef struct {
  atomic_long launched, ended;
} Stream;

typedef struct {
  _Atomic(Stream *) stream;
  atomic_long launch;
} Event;

typedef struct {
  int (*function)(void *, long);
  void *context;
  long lane;
} Lane;

typedef struct {
  Stream *stream;
  long number;
  Lane *lanes;
  long count;
} Launch;

// A copy, or the assignment of a value without a source.
typedef struct {
  Stream *stream;
  long number;
  void *target;
  const void *source;
  void *copy;
  unsigned char value;
  size_t bytes;
} Transfer;

// Handles that are not released.
atomic_long live_handles;
static Stream null_stream;
static _Thread_local int last_error, device, capture_mode;
static struct {
  uintptr_t address;
  size_t bytes;
} blocks[kMostBlocks];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int fail(int code) { return last_error = code; }

static Stream *of(Stream *stream) { return stream ? stream : &null_stream; }

static void finish(Stream *stream, long launch) {
  while (stream->ended < launch)
    sched_yield();
}

static void drain(Stream *stream) { finish(of(stream), of(stream)->launched); }

int hipInit(unsigned flags) { return flags ? fail(kInvalidValue) : 0; }
int hipGetDeviceCount(int *count) { return *count = kDevices, 0; }
int hipGetDevice(int *current) { return *current = device, 0; }
int hipSetDevice(int wanted) {
  if (wanted < 0 || wanted >= kDevices)
    return fail(kInvalidDevice);
  device = wanted;
  return 0;
}

int hipDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  if (ordinal < 0 || ordinal >= kDevices || peer < 0 || peer >= kDevices)
    return fail(kInvalidDevice);
  *can = ordinal != peer;
  return 0;
}

int hipGetLastError(void) {
  int error = last_error;
  last_error = 0;
  return error;
}

int hipRuntimeGetVersion(int *version) { return *version = 70151831, 0; }

int hipGetDevicePropertiesR0600(char *properties, int ordinal) {
  if (ordinal < 0 || ordinal >= kDevices)
    return fail(kInvalidDevice);
  strcpy(properties + ARCH_OFFSET, "gfx942:sramecc+:xnack-");
  return 0;
}

int hipDeviceGetAttribute(int *value, int attribute, int ordinal) {
  if (ordinal < 0 || ordinal >= kDevices)
    return fail(kInvalidDevice);
  *value = attribute == 63 ? 8 : attribute == 74 ? 65536 : -1;
  return *value < 0 ? fail(kInvalidValue) : 0;
}

// -- memory ---------------------------------------------------------------------------------------

static int allocate(void **pointer, size_t bytes) {
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*pointer)
    return fail(kOutOfMemory);
  memset(*pointer, 0xff, bytes);
  pthread_mutex_lock(&lock);
  int slot = 0;
  while (blocks[slot].address)
    ++slot;
  blocks[slot].address = (uintptr_t)*pointer;
  blocks[slot].bytes = bytes;
  pthread_mutex_unlock(&lock);
  ++live_handles;
  return 0;
}

static int find(uintptr_t address) {
  for (int slot = 0; slot < kMostBlocks; ++slot)
    if (blocks[slot].address && blocks[slot].address <= address &&
        address < blocks[slot].address + blocks[slot].bytes)
      return slot;
  return -1;
}

int hipMalloc(void **pointer, size_t bytes) { return allocate(pointer, bytes); }

int hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags) {
  // Fine-grained memory, or uncached memory.
  return flags == 1 || flags == 3 ? allocate(pointer, bytes) : fail(kInvalidValue);
}

int hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
  return flags == (2u | 1u << 30) ? allocate(pointer, bytes) : fail(kInvalidValue);
}

int hipFree(void *pointer) {
  pthread_mutex_lock(&lock);
  int slot = find((uintptr_t)pointer);
  int known = slot >= 0 && blocks[slot].address == (uintptr_t)pointer;
  if (known)
    blocks[slot].address = 0;
  pthread_mutex_unlock(&lock);
  if (!known)
    return fail(kInvalidValue);
  free(pointer);
  --live_handles;
  return 0;
}

int hipHostFree(void *pointer) { return hipFree(pointer); }

int hipPointerGetAttribute(int *data, int attribute, void *pointer) {
  pthread_mutex_lock(&lock);
  int known = attribute == 9 && find((uintptr_t)pointer) >= 0;
  pthread_mutex_unlock(&lock);
  *data = 0;
  return known ? 0 : fail(kInvalidValue);
}

static void *run_transfer(void *argument) {
  Transfer *transfer = argument;
  finish(transfer->stream, transfer->number - 1);
  if (transfer->source)
    memcpy(transfer->target, transfer->source, transfer->bytes);
  else
    memset(transfer->target, transfer->value, transfer->bytes);
  ++transfer->stream->ended;
  free(transfer->copy);
  free(transfer);
  return NULL;
}

static int transfer(Transfer given) {
  given.stream = of(given.stream);
  int is_idle = given.stream->ended == given.stream->launched;
  Transfer *queued = malloc(sizeof *queued);
  *queued = given;
  queued->number = ++given.stream->launched;
  if (is_idle)
    return run_transfer(queued), 0;
  pthread_t thread;
  pthread_create(&thread, NULL, run_transfer, queued);
  pthread_detach(thread);
  return 0;
}

// The caller may change the source after the call.
int hipMemcpyHtoDAsync(void *target, const void *source, size_t bytes, Stream *stream) {
  void *copy = memcpy(malloc(bytes), source, bytes);
  return transfer(
      (Transfer){.stream = stream, .target = target, .source = copy, .copy = copy, .bytes = bytes});
}

int hipMemcpyDtoHAsync(void *target, const void *source, size_t bytes, Stream *stream) {
  return transfer((Transfer){.stream = stream, .target = target, .source = source, .bytes = bytes});
}

int hipMemcpyDtoDAsync(void *target, const void *source, size_t bytes, Stream *stream) {
  return hipMemcpyDtoHAsync(target, source, bytes, stream);
}

int hipMemsetD8Async(void *target, unsigned char value, size_t bytes, Stream *stream) {
  return transfer((Transfer){.stream = stream, .target = target, .value = value, .bytes = bytes});
}

// -- memory that GPUs share -----------------------------------------------------------------------

typedef struct {
  int type, handle_types, location, device;
  void *win32;
  unsigned char compression, rdma;
  unsigned short usage;
} Properties;

typedef struct {
  int location, device, flags;
} Access;

typedef struct {
  int file;
  size_t bytes;
} Physical;

static int is_valid(const Properties *properties) {
  return properties->type == kUncached && properties->location == kOfDevice &&
         properties->device >= 0 && properties->device < kDevices;
}

int hipMemGetAllocationGranularity(size_t *page, const Properties *properties, int option) {
  *page = kPage;
  return is_valid(properties) && !option ? 0 : fail(kInvalidValue);
}

static int hold(Physical **handle, int file, size_t bytes) {
  *handle = malloc(sizeof **handle);
  **handle = (Physical){file, bytes};
  ++live_handles;
  return 0;
}

int hipMemCreate(Physical **handle, size_t bytes, const Properties *properties,
                 unsigned long long flags) {
  if (!is_valid(properties) || flags || !bytes || bytes % kPage)
    return fail(kInvalidValue);
  int file = memfd_create("memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, bytes))
    return fail(kOutOfMemory);
  return hold(handle, file, bytes);
}

int hipMemRelease(Physical *handle) {
  close(handle->file);
  free(handle);
  --live_handles;
  return 0;
}

int hipMemExportToShareableHandle(int *file, Physical *handle, int type,
                                  unsigned long long flags) {
  if (type != kFile || flags)
    return fail(kInvalidValue);
  *file = dup(handle->file);
  return 0;
}

int hipMemImportFromShareableHandle(Physical **handle, void *file, int type) {
  off_t bytes = lseek((int)(intptr_t)file, 0, SEEK_END);
  if (type != kFile || bytes <= 0)
    return fail(kInvalidValue);
  return hold(handle, dup((int)(intptr_t)file), bytes);
}

// Addresses from a multiple of the page on, which no other memory has.
int hipMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *wanted,
                         unsigned long long flags) {
  if (wanted || flags || !bytes || bytes % kPage || alignment > kPage)
    return fail(kInvalidValue);
  char *begin = mmap(NULL, bytes + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED)
    return fail(kOutOfMemory);
  size_t before = -(uintptr_t)begin % kPage;
  if (before)
    munmap(begin, before);
  *pointer = begin + before;
  if (before < kPage)
    munmap(begin + before + bytes, kPage - before);
  ++live_handles;
  return 0;
}

int hipMemAddressFree(void *pointer, size_t bytes) {
  --live_handles;
  return munmap(pointer, bytes) ? fail(kInvalidValue) : 0;
}

// Memory without access, as on a GPU; hipMemSetAccess allows it.
int hipMemMap(void *pointer, size_t bytes, size_t offset, Physical *handle,
              unsigned long long flags) {
  if (offset || flags || bytes != handle->bytes)
    return fail(kInvalidValue);
  if (mmap(pointer, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->file, 0) == MAP_FAILED)
    return fail(kOutOfMemory);
  ++live_handles;
  return 0;
}

int hipMemUnmap(void *pointer, size_t bytes) {
  --live_handles;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  return mmap(pointer, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED ? fail(kInvalidValue) : 0;
}

int hipMemSetAccess(void *pointer, size_t bytes, const Access *access, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (access[i].location != kOfDevice || access[i].device < 0 ||
        access[i].device >= kDevices || access[i].flags != kReadWrite)
      return fail(kInvalidValue);
  return count && !mprotect(pointer, bytes, PROT_READ | PROT_WRITE) ? 0 : fail(kInvalidValue);
}

// A handle of legacy IPC is the address, since the tests have one process.
typedef struct {
  char bytes[64];
} Handle;

int hipIpcGetMemHandle(Handle *handle, void *pointer) {
  pthread_mutex_lock(&lock);
  int slot = find((uintptr_t)pointer);
  pthread_mutex_unlock(&lock);
  if (slot < 0 || blocks[slot].address != (uintptr_t)pointer)
    return fail(kInvalidValue);
  memset(handle, 0, sizeof *handle);
  memcpy(handle->bytes, &pointer, sizeof pointer);
  return 0;
}

int hipIpcOpenMemHandle(void **pointer, Handle handle, unsigned flags) {
  memcpy(pointer, handle.bytes, sizeof *pointer);
  ++live_handles;
  return flags == 1 ? 0 : fail(kInvalidValue);
}

int hipIpcCloseMemHandle(void *pointer) {
  --live_handles;
  return pointer ? 0 : fail(kInvalidValue);
}

int hipDeviceGetUuid(char *uuid, int ordinal) {
  memset(uuid, 0, 16);
  uuid[15] = ordinal;
  return 0;
}

// -- streams and events ---------------------------------------------------------------------------

int hipStreamCreateWithFlags(Stream **stream, unsigned flags) {
  if (flags != 1)
    return fail(kInvalidValue);
  *stream = calloc(1, sizeof(Stream));
  ++live_handles;
  return 0;
}

int hipStreamDestroy(Stream *stream) {
  drain(stream);
  free(stream);
  --live_handles;
  return 0;
}

int hipStreamQuery(Stream *stream) {
  return of(stream)->ended < of(stream)->launched ? kNotReady : 0;
}

int hipStreamSynchronize(Stream *stream) { return drain(stream), 0; }
int hipStreamIsCapturing(Stream *stream, int *status) { return (void)stream, *status = 0, 0; }

int hipThreadExchangeStreamCaptureMode(int *mode) {
  if (*mode < 0 || *mode > 2)
    return fail(kInvalidValue);
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int hipEventCreateWithFlags(Event **event, unsigned flags) {
  if (flags != 2)
    return fail(kInvalidValue);
  *event = calloc(1, sizeof(Event));
  ++live_handles;
  return 0;
}

int hipEventDestroy(Event *event) {
  free(event);
  --live_handles;
  return 0;
}

int hipEventRecord(Event *event, Stream *stream) {
  event->launch = of(stream)->launched;
  event->stream = of(stream);
  return 0;
}

int hipEventQuery(Event *event) {
  Stream *stream = event->stream;
  return stream && stream->ended < event->launch ? kNotReady : 0;
}

int hipStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
  (void)stream;
  if (event->stream)
    finish(event->stream, event->launch);
  return flags ? fail(kInvalidValue) : 0;
}

// -- modules and launches -------------------------------------------------------------------------

int hipModuleLoadData(void **module, const void *image) {
  const Elf64_Ehdr *header = image;
  char path[64];
  int file = memfd_create("module", 0);
  size_t bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  if (file < 0 || write(file, image, bytes) != (ssize_t)bytes)
    return fail(kInvalidValue);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  close(file);
  if (!*module)
    return fail(kInvalidValue);
  ++live_handles;
  return 0;
}

int hipModuleUnload(void *module) {
  dlclose(module);
  --live_handles;
  return 0;
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  *function = dlsym(module, name);
  return *function ? 0 : fail(kNotFound);
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_of_cu, void *function,
                                                       int threads, size_t dynamic) {
  *blocks_of_cu = 1;
  return function && threads > 0 && !dynamic ? 0 : fail(kInvalidValue);
}

static void *run_lane(void *argument) {
  Lane *lane = argument;
  int32_t *codes = ((int32_t **)lane->context)[kCodesField];
  codes[lane->lane] = lane->function(lane->context, lane->lane);
  return NULL;
}

static void *run_lanes(void *argument) {
  Launch *launch = argument;
  finish(launch->stream, launch->number - 1);
  pthread_t *threads = calloc(launch->count, sizeof *threads);
  for (long lane = 0; lane < launch->count; ++lane)
    pthread_create(&threads[lane], NULL, run_lane, &launch->lanes[lane]);
  for (long lane = 0; lane < launch->count; ++lane)
    pthread_join(threads[lane], NULL);
  ++launch->stream->ended;
  free(threads);
  free(launch->lanes);
  free(launch);
  return NULL;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic,
                          Stream *stream, void **parameters, void **extra) {
  if (grid_y != 1 || grid_z != 1 || block_x % 64 || block_y != 1 || block_z != 1 || dynamic ||
      extra)
    return fail(kInvalidValue);
  Launch *launch = calloc(1, sizeof *launch);
  launch->stream = of(stream);
  launch->count = grid_x;
  launch->lanes = calloc(grid_x, sizeof *launch->lanes);
  // Reads the parameters during the call, as HIP does.
  for (unsigned lane = 0; lane < grid_x; ++lane)
    launch->lanes[lane] = (Lane){(int (*)(void *, long))function, *(void **)parameters[0], lane};
  launch->number = ++launch->stream->launched;
  pthread_t thread;
  pthread_create(&thread, NULL, run_lanes, launch);
  pthread_detach(thread);
  return 0;
}
