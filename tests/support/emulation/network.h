//===- network.h - Copies and signals by network adapters -------*- C++ -*-===//
//
// A stand-in for the device functions of NCCL (GIN) that kernels call. Messages
// arrive at random times, as far as NCCL's header allows: a copy reads and
// writes its words one by one in any order, and a strong signal arrives after
// all earlier messages of its thread to the same rank. A copy must see what the
// thread has seen before its last fence at the scope of the system.
//
// A window is a table of 64-bit words: for each rank, the address of the first
// byte of its window.

#ifndef ARK_TESTS_EMULATION_NETWORK_H
#define ARK_TESTS_EMULATION_NETWORK_H

namespace simt {

/// Begins a launch without messages.
void beginNetwork();
/// Lets some messages proceed.
void proceedMessages();
/// Delivers all messages at the end of a launch. Returns an error if the copies
/// had not arrived, or null.
const char *endNetwork();

} // namespace simt

#endif // ARK_TESTS_EMULATION_NETWORK_H
