//===- banks.cpp - Banks of the LDS of AMD GPUs ---------------------------===//

#include "banks.h"

#include "shared.h"
#include "simt.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

using namespace simt;

namespace {
/// The accesses of a wave at one position of the kernel.
struct Access {
  std::array<uint32_t, kMaxWarpSize> words;
  int arrived = 0;
};

/// The CTA, the wave and the instruction, and the time of the last barrier.
using Origin = std::tuple<int, int, int, uint32_t>;

/// The accesses of a size, 8 or 16 bytes, and their most cycles of a phase.
struct Count {
  int64_t accesses = 0, cycles = 0;
};

int numBanks;
std::map<std::pair<Origin, int>, Access> open;
std::map<std::pair<Origin, int>, int> turns;
/// By kind (loads, stores) and size (8, 16 bytes).
std::array<std::array<Count, 2>, 2> counts;
} // namespace

/// Returns the cycles of a phase: the most different words of one bank.
static int64_t countCycles(const Access &access, const std::vector<int> &phase,
                           int words) {
  std::map<int, std::set<uint32_t>> banks;
  size_t most = 0;
  for (int thread : phase)
    for (int i = 0; i < words; ++i) {
      uint32_t word = access.words[thread] + i;
      auto &bank = banks[word % numBanks];
      bank.insert(word);
      most = std::max(most, bank.size());
    }
  return most;
}

/// Returns the phases in which the hardware may serve a wave: neighbouring
/// threads; and, for 16 bytes and 32 banks, also four threads of two groups.
static std::vector<std::vector<int>> getPhases(int words) {
  std::vector<std::vector<int>> phases;
  int size = numBanks / words;
  for (int thread = 0; thread < kMaxWarpSize; ++thread) {
    if (thread % size == 0)
      phases.emplace_back();
    phases.back().push_back(thread);
  }
  if (numBanks != 32 || words != 4)
    return phases;
  for (int half = 0; half < kMaxWarpSize; half += 32)
    for (auto [first, second] :
         {std::pair(0, 20), {4, 16}, {8, 28}, {12, 24}}) {
      phases.emplace_back();
      for (int i = 0; i < 8; ++i)
        phases.back().push_back(half + (i < 4 ? first + i : second + i - 4));
    }
  return phases;
}

void simt::noteBanks(const void *at, int64_t bytes, bool isStore) {
  if (numBanks == 0 || (bytes != 8 && bytes != 16))
    return;
  int inWarp = getThread() % getWarpSize();
  Origin origin{getCta(), getThread() / getWarpSize(), getSite(),
                getBarrierTime()};
  int turn = turns[{origin, inWarp}]++;
  Access &access = open[{origin, turn}];
  access.words[inWarp] = (static_cast<const char *>(at) - getShared()) / 4;
  if (++access.arrived < kMaxWarpSize)
    return;
  int words = bytes / 4;
  Count &count = counts[isStore][bytes == 16];
  ++count.accesses;
  for (const std::vector<int> &phase : getPhases(words))
    count.cycles = std::max(count.cycles, countCycles(access, phase, words));
  open.erase({origin, turn});
}

extern "C" {
/// Begins to count accesses to this many banks. Zero ends it.
void simt_count_banks(int banks) {
  numBanks = banks;
  open.clear();
  turns.clear();
  counts = {};
}

/// Returns the accesses of whole waves, or the most cycles of a phase.
int64_t simt_get_banks(int isStore, int bytes, int cycles) {
  const Count &count = counts[isStore][bytes == 16];
  return cycles ? count.cycles : count.accesses;
}
}
