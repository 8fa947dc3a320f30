//===- convergence.cpp - Threads that converge ----------------------------===//

#include "memory.h"
#include "state.h"

using namespace simt;

void simt::openBarrier(Cta &cta) {
  if (cta.atBarrier == 0 || cta.atBarrier + cta.ended < (int)cta.threads.size())
    return;
  cta.result = cta.any;
  cta.any = false;
  cta.atBarrier = 0;
  cta.barrierTime = tick();
  launch->hasProgress = true;
  for (Thread &thread : cta.threads)
    if (thread.state == State::AtBarrier)
      thread.state = State::Ready;
}

uint32_t simt::getBarrierTime() { return currentCta().barrierTime; }
uint32_t simt::getWarpTime() {
  return currentCta().warpTimes[currentCta().current / getWarpSize()];
}

uint32_t simt::getConvergenceTime() {
  return currentCta().convergenceTimes[currentCta().current / getWarpSize()];
}

bool simt::syncCta(bool predicate) {
  Cta &cta = currentCta();
  cta.any |= predicate;
  ++cta.atBarrier;
  currentThread().state = State::AtBarrier;
  openBarrier(cta);
  suspend();
  return cta.result;
}

/// Adds the thread to those that have reached the instruction. Returns true
/// if it is the last one.
static bool arrive(Convergence &point, int index, Slot *args, Slot *results,
                   int wanted, State state) {
  point.args[index] = args;
  point.results[index] = results;
  currentThread().state = state;
  return ++point.arrived == wanted;
}

void simt::convergeWarp(uint64_t mask, const char *name, Slot *args,
                        Slot *results, const Work &work) {
  Cta &cta = currentCta();
  int inWarp = cta.current % getWarpSize(), first = cta.current - inWarp;
  Convergence &warp = cta.warps[cta.current / getWarpSize()];
  if (!(mask >> inWarp & 1))
    fail("%s with mask %#llx, which this thread is not part of", name,
         (unsigned long long)mask);
  if (warp.arrived == 0) {
    warp.name = name;
    warp.mask = mask;
  } else if (warp.name != name || warp.mask != mask) {
    fail("%s of %#llx, while others of its warp are at %s of %#llx", name,
         (unsigned long long)mask, warp.name, (unsigned long long)warp.mask);
  }
  int wanted = __builtin_popcountll(mask);
  if (!arrive(warp, inWarp, args, results, wanted, State::InWarp)) {
    suspend();
    return;
  }
  work(warp.args.data(), warp.results.data());
  warp.arrived = 0;
  cta.convergenceTimes[cta.current / getWarpSize()] = tick();
  for (int other = 0; other < getWarpSize(); ++other)
    if (mask >> other & 1)
      cta.threads[first + other].state = State::Ready;
}

void simt::syncWarp(uint64_t mask, const char *name) {
  Cta &cta = currentCta();
  uint32_t &time = cta.warpTimes[cta.current / getWarpSize()];
  convergeWarp(mask, name, nullptr, nullptr,
               [&time](Slot *const *, Slot *const *) { time = tick(); });
}

void simt::convergeWarpgroup(const char *name, Slot *args, Slot *results,
                             const Work &work) {
  Cta &cta = currentCta();
  int index = cta.current % kWarpgroupSize, first = cta.current - index;
  if (first + kWarpgroupSize > (int)cta.threads.size())
    fail("%s by a warpgroup that is not whole", name);
  Convergence &group = cta.warpgroups[cta.current / kWarpgroupSize];
  if (group.arrived == 0) {
    group.name = name;
    group.site = getSite();
  } else if (group.name != name || group.site != getSite()) {
    fail("%s, while others of its warpgroup are at another %s", name,
         group.name);
  }
  if (!arrive(group, index, args, results, kWarpgroupSize,
              State::InWarpgroup)) {
    suspend();
    return;
  }
  work(group.args.data(), group.results.data());
  group.arrived = 0;
  for (int other = 0; other < kWarpgroupSize; ++other)
    cta.threads[first + other].state = State::Ready;
}

std::string simt::describeThreads(const Cta &cta) {
  std::string text;
  for (size_t i = 0; i < cta.threads.size(); i += getWarpSize()) {
    int counts[5] = {};
    for (size_t j = i; j < std::min(i + getWarpSize(), cta.threads.size()); ++j)
      ++counts[(int)cta.threads[j].state];
    const Convergence &warp = cta.warps[i / getWarpSize()];
    text += "\n  warp " + std::to_string(i / getWarpSize()) + ": " +
            std::to_string(counts[(int)State::AtBarrier]) + " at a barrier, " +
            std::to_string(counts[(int)State::InWarp]) + " at " +
            (counts[(int)State::InWarp] ? warp.name : "nothing") + ", ";
    if (int grouped = counts[(int)State::InWarpgroup])
      text += std::to_string(grouped) + " at " +
              cta.warpgroups[i / kWarpgroupSize].name + ", ";
    text += std::to_string(counts[(int)State::Ended]) + " ended";
  }
  return text;
}
