//===- ports.h - Proxies of port channels -----------------------*- C++ -*-===//
//
// A stand-in for the proxies of MSCCL++, which execute the triggers that
// kernels add to FIFOs in memory of the host. A proxy takes the triggers of its
// FIFO in order. Copies and signals arrive at random times, as far as MSCCL++
// promises: a copy reads and writes its words one by one in any order, and a
// signal arrives after all earlier messages of its connection, which is a pair
// of ranks. A message must see what the thread has seen before its release of
// the trigger.
//
// Messages that have not arrived at the end of a launch arrive later.

#ifndef ARK_TESTS_EMULATION_PORTS_H
#define ARK_TESTS_EMULATION_PORTS_H

#include <cstdint>

namespace simt {

/// Begins a launch. Messages of earlier launches may be under way.
void beginPorts();
/// Lets a proxy take a trigger, or a message proceed.
void proceedPorts();

/// Returns true for a word of a FIFO, or the word with its tail.
bool isPortWord(const char *at);
/// Ends the launch if the current CTA overwrites a trigger that the proxy may
/// not have read.
void checkPush(const char *at);

} // namespace simt

#endif // ARK_TESTS_EMULATION_PORTS_H
