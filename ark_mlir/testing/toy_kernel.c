// A kernel for tests of the runtime: the contract of docs/bundle.md in plain C, with
// bodies that misbehave on demand. What the compiler makes has the same entry function.

#include <sched.h>
#include <stdint.h>
#include <time.h>

enum { Run, Signal, Wait, Barrier, Prefetch };
enum { None, Hang, Peers = 3 };

typedef struct {
  uint64_t abort, lane, instruction, semaphore, seen, expected, stop, queued;
} ArkReport;

typedef struct {
  void **buffers;
  const int32_t (*instructions)[4];
  const int32_t (*lanes)[3];
  const int32_t (*tasks)[2];
  const int64_t (*operands)[2];
  char *semaphores;
  ArkReport *report;
  uint64_t epoch, iterations, timeout;
  int64_t (*trace)[2];
  int64_t *status;
  int32_t *codes;
  uint64_t *doorbell;
  uint64_t ranks, **begun;
} ArkContext;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(long milliseconds) {
  struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&t, 0);
}

static uint64_t aborted(const ArkContext *c) {
  return __atomic_load_n(&c->report->abort, __ATOMIC_RELAXED);
}

static uint64_t *counter(const ArkContext *c, int64_t semaphore) {
  return (uint64_t *)(c->semaphores + 64 * semaphore);
}

static void bad_index(const ArkContext *c, int64_t index, int64_t bound, int32_t task) {
  int64_t none = 0;
  if (__atomic_compare_exchange_n(&c->status[0], &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    c->status[1] = index;
    c->status[2] = bound;
    c->status[3] = task;
  }
}

// Bodies, in the order of BODIES in toy.py. `p` are the operands' addresses.
static void body(const ArkContext *c, int32_t which, int32_t task, int32_t vcta, char **p) {
  switch (which) {
  case 0: { // add: 16 floats per vCTA
    float *out = (float *)p[0], *a = (float *)p[1], *b = (float *)p[2];
    for (int64_t i = 16 * (int64_t)vcta; i < 16 * (int64_t)(vcta + 1); i++)
      out[i] = a[i] + b[i];
    return;
  }
  case 1: { // gather: row of 16 floats, out of 8
    int32_t index = ((int32_t *)p[1])[vcta];
    if (index < 0 || index >= 8) {
      bad_index(c, index, 8, task);
      index = 0;
    }
    for (int64_t i = 0; i < 16; i++)
      ((float *)p[0])[16 * (int64_t)vcta + i] = ((float *)p[2])[16 * (int64_t)index + i];
    return;
  }
  case 2: // count: one more
    *(int64_t *)p[0] += 1;
    return;
  case 3: // fill: the scalar
    ((int32_t *)p[0])[vcta] = *(int32_t *)p[1];
    return;
  case 4: // copy: 64 bytes per vCTA
    for (int64_t i = 64 * (int64_t)vcta; i < 64 * (int64_t)(vcta + 1); i++)
      p[0][i] = p[1][i];
    return;
  case 5: // nap: 20 ms
    nap(20);
    return;
  case 6: { // endless, deaf to an abort until the operand is 1; makes a 2 of its 0
    int32_t none = 0, *flag = (int32_t *)p[0];
    __atomic_compare_exchange_n(flag, &none, 2, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) != 1)
      nap(1);
    return;
  }
  case 7: // align: the addresses' low bits
    *(int64_t *)p[0] = (int64_t)((uintptr_t)p[1] % 64);
    return;
  case 8: // nothing
    return;
  }
}

static void run(const ArkContext *c, const int32_t *instruction) {
  int32_t task = instruction[1];
  char *p[4];
  for (int k = 0; k < 4; k++) {
    const int64_t *row = c->operands[c->tasks[task][1] + k];
    // The tables end with four spare entries, so that a task may have fewer operands.
    p[k] = (char *)c->buffers[row[0]] + row[1];
  }
  for (int32_t vcta = instruction[2]; vcta < instruction[3]; vcta++)
    body(c, c->tasks[task][0], task, vcta, p);
}

static int32_t wait_for(const ArkContext *c, int64_t lane, int64_t index, uint64_t expected) {
  int32_t semaphore = c->instructions[index][1];
  uint64_t start = now(), seen;
  while ((int64_t)((seen = __atomic_load_n(counter(c, semaphore), __ATOMIC_ACQUIRE)) - expected) < 0) {
    if (aborted(c))
      return (int32_t)aborted(c);
    if (now() - start > c->timeout) {
      uint64_t none = None;
      if (__atomic_compare_exchange_n(&c->report->abort, &none, Hang, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
        c->report->lane = (uint64_t)lane;
        c->report->instruction = (uint64_t)index;
        c->report->semaphore = (uint64_t)semaphore;
        c->report->seen = seen;
        c->report->expected = expected;
      }
      return (int32_t)aborted(c);
    }
    sched_yield();
  }
  return 0;
}

// Tells all GPUs that this kernel has begun, and waits until all others have.
static void meet_ranks(const ArkContext *c, int64_t lane) {
  const int64_t begun = (1 << 18) - 8 - 256;
  uint64_t *counters = (uint64_t *)c->semaphores, start = now();
  for (uint64_t rank = 0; !lane && c->ranks > 1 && rank < c->ranks; rank++)
    __atomic_store_n(c->begun[rank], c->epoch + 1, __ATOMIC_RELAXED);
  for (uint64_t rank = 0; c->ranks > 1 && rank < c->ranks; sched_yield()) {
    if (__atomic_load_n(&counters[begun + (int64_t)rank], __ATOMIC_RELAXED) > c->epoch) {
      rank++;
      continue;
    }
    if (aborted(c))
      return;
    uint64_t none = None;
    if (now() - start > 5 * c->timeout &&
        __atomic_compare_exchange_n(&c->report->abort, &none, Peers, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
      c->report->seen = rank;
  }
}

static int32_t iterate(const ArkContext *c, int64_t lane) {
  for (uint64_t i = 0; i < c->iterations; i++) {
    for (int64_t index = c->lanes[lane][1]; index < c->lanes[lane][2]; index++) {
      if (aborted(c))
        return (int32_t)aborted(c);
      const int32_t *instruction = c->instructions[index];
      if (c->trace)
        c->trace[index][0] = (int64_t)now();
      if (instruction[0] == Run)
        run(c, instruction);
      if (instruction[0] == Signal || instruction[0] == Barrier) {
        int64_t upper = instruction[0] == Signal ? instruction[2] : 0;
        __atomic_fetch_add(counter(c, instruction[1] + (upper << 32)), 1, __ATOMIC_RELEASE);
      }
      if (instruction[0] == Wait || instruction[0] == Barrier) {
        int32_t code =
            wait_for(c, lane, index, (c->epoch + i + 1) * (uint64_t)instruction[2]);
        if (code)
          return code;
      }
      if (c->trace)
        c->trace[index][1] = (int64_t)now();
    }
  }
  return 0;
}

// Waits until the host starts run number `run`. Returns true if the run starts. With a record of
// the host in the doorbell, lane 0 alone polls it and forwards the number, as lanes of a GPU do.
static int await_run(const ArkContext *c, int64_t lane, uint64_t run) {
  const uint64_t *host = (const uint64_t *)c->doorbell[16];
  uint64_t start = now();
  for (;; sched_yield()) {
    if (host && !lane) {
      int starts = __atomic_load_n(host, __ATOMIC_ACQUIRE) >= run;
      if (starts || aborted(c) || now() - start > c->timeout) {
        __atomic_store_n(&c->doorbell[0], starts ? run : UINT64_MAX, __ATOMIC_RELEASE);
        return starts;
      }
      continue;
    }
    uint64_t passed = __atomic_load_n(&c->doorbell[0], __ATOMIC_ACQUIRE);
    if (passed == UINT64_MAX || (!host && aborted(c)))
      return 0;
    if (passed >= run)
      return 1;
  }
}

static void answer(const ArkContext *c, int64_t lane, uint64_t run) {
  uint64_t *host = (uint64_t *)c->doorbell[16];
  __atomic_fetch_add(&c->doorbell[8], 1, __ATOMIC_RELEASE);
  if (!host || lane)
    return;
  while (__atomic_load_n(&c->doorbell[8], __ATOMIC_ACQUIRE) < run * c->doorbell[17]) {
    if (aborted(c))
      return;
    sched_yield();
  }
  __atomic_store_n(&host[8], run, __ATOMIC_RELEASE);
}

int32_t ark_kernel(const ArkContext *c, int64_t lane) {
  if (!lane)
    __atomic_store_n(&c->report->queued, 0, __ATOMIC_RELAXED);
  meet_ranks(c, lane);
  if (!c->doorbell)
    return iterate(c, lane);
  for (uint64_t run = 1; await_run(c, lane, run) && c->iterations; run++) {
    int32_t code = iterate(c, lane);
    if (code)
      return code;
    answer(c, lane, run);
  }
  return 0;
}
