//===- ExchangeCost.cpp - Cost of messages between GPUs -------------------===//

#include "lib/analysis/ExchangeCost.h"

#include <algorithm>

// Fitted to all-reduces of 2 KiB to 16 MiB between four H200 with NVLink
// (benchmarks/results/2026-11-26-four-gpus.md). The time of a message by
// counter includes the hand-offs within both GPUs.
static constexpr double kBytesPerNs = 287, kPacketNs = 900, kCounterNs = 8000;
// A tensor of at most this many bytes travels as task packets, which take twice
// its bytes and need no counter.
static constexpr double kPacketBytes = 32768;

/// Fitted to puts of 32 MiB by 8 SMs, and to puts of 16 MiB by all SMs, between
/// two H200.
static constexpr double kBytesPerNsOfSm = 33, kBytesPerNsOfLinks = 370;

double mlir::ark::predictExchangeNs(double bytes, int64_t messages) {
  bool isPacket = bytes <= kPacketBytes;
  double sent = (isPacket ? 2 : 1) * bytes * messages;
  return (isPacket ? kPacketNs : kCounterNs) + sent / kBytesPerNs;
}

double mlir::ark::predictRemoteStoreNs(double bytes, int64_t sms) {
  return bytes / std::min(kBytesPerNsOfSm, kBytesPerNsOfLinks / sms);
}
