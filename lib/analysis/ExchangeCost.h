//===- ExchangeCost.h - Cost of messages between GPUs -----------*- C++ -*-===//
//
// Estimates in nanoseconds. Collectives choose their algorithm by them;
// correctness does not depend on the estimates.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_EXCHANGECOST_H
#define ARK_LIB_ANALYSIS_EXCHANGECOST_H

#include "dialects/ark/ArkAttrs.h"

namespace mlir::ark {

/// Predicts the time in which a GPU sends `messages` of `bytes` each to other
/// GPUs of its host, until the last reader has its message.
double predictExchangeNs(LinksAttr links, double bytes, int64_t messages);

/// Predicts the time in which one of `sms` SMs of a GPU stores `bytes` to other
/// GPUs, while the other SMs store as many bytes.
double predictRemoteStoreNs(LinksAttr links, double bytes, int64_t sms);

/// Predicts the time in which a network adapter copies `bytes` to a GPU of
/// another NVLink domain.
double predictNetworkNs(double bytes);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_EXCHANGECOST_H
