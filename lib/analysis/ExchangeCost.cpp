//===- ExchangeCost.cpp - Cost of messages between GPUs -------------------===//

#include "lib/analysis/ExchangeCost.h"

#include <algorithm>

// A tensor of at most this many bytes travels as task packets, which take twice
// its bytes and need no counter: 16,384 elements of 16 bits, the default limit
// of ark-hand-off-packets.
static constexpr double kPacketBytes = 32768;

// A network adapter of 400 Gb/s, and half of the round trip of a put and a
// signal that a GPU starts, as published for NCCL's GIN. Nothing was measured.
static constexpr double kNetworkBandwidth = 50, kNetworkLatencyNs = 8400;

double mlir::ark::predictNetworkNs(double bytes) {
  return kNetworkLatencyNs + bytes / kNetworkBandwidth;
}

double mlir::ark::predictExchangeNs(LinksAttr links, double bytes,
                                    int64_t messages) {
  bool isPacket = bytes <= kPacketBytes;
  double sent = (isPacket ? 2 : 1) * bytes * messages;
  return (isPacket ? links.getPacket() : links.getMessage()) +
         sent / links.getMessageBandwidth();
}

double mlir::ark::predictRemoteStoreNs(LinksAttr links, double bytes,
                                       int64_t sms) {
  return bytes / std::min(double(links.getSmBandwidth()),
                          double(links.getBandwidth()) / sms);
}
