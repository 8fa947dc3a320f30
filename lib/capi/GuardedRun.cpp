//===- GuardedRun.cpp - Work in a child process ---------------------------===//

#include "lib/capi/GuardedRun.h"

#include "lib/support/FatalErrors.h"

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::ark;

namespace {
enum class Step { kStarting, kReading, kPasses, kPrinting, kFinished };
} // namespace

struct mlir::ark::Progress {
  Step step = Step::kStarting;
  /// The pass that runs, and the last fatal error of LLVM.
  char pass[128] = "";
  char error[256] = "";
};

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// A quarter of Linux's default stack size. Input that MLIR reads within this
/// limit does not exhaust the default stack of another process that reads the
/// input.
static constexpr rlim_t kStackBytes = rlim_t(2) << 20;
static constexpr rlim_t kMemoryBytes = rlim_t(8) << 30;
static constexpr rlim_t kMemoryPerByte = 64;
/// Limits the time of MLIR's reader, which never ends on some damaged bytecode.
static constexpr rlim_t kBytesPerSecond = 1 << 16;

/// Sanitizers reserve terabytes of address space, so a process with sanitizers
/// has no limit on its address space.
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static constexpr bool kLimitsAddresses = false;
#else
static constexpr bool kLimitsAddresses = true;
#endif

static rlimit getLimit(int resource) {
  rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &limit);
  return limit;
}

/// Lowers a soft limit. The process can restore it, because the hard limit
/// stays.
static void lowerLimit(int resource, rlimit limit, rlim_t most) {
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  setrlimit(resource, &limit);
}

static rlim_t getProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1;
}

GuardedRun::GuardedRun(Progress &progress, unsigned seconds)
    : progress(progress), seconds(seconds), core(getLimit(RLIMIT_CORE)),
      stack(getLimit(RLIMIT_STACK)), memory(getLimit(RLIMIT_AS)),
      time(getLimit(RLIMIT_CPU)) {}

void GuardedRun::setLimits() {
  lowerLimit(RLIMIT_CORE, core, 0);
  lowerLimit(RLIMIT_STACK, stack, kStackBytes);
  lowerLimit(RLIMIT_CPU, time,
             getProcessorSeconds() + seconds + inputBytes / kBytesPerSecond);
  if (kLimitsAddresses)
    lowerLimit(RLIMIT_AS, memory, kMemoryBytes + kMemoryPerByte * inputBytes);
}

void GuardedRun::liftLimits() {
  setrlimit(RLIMIT_CORE, &core);
  setrlimit(RLIMIT_STACK, &stack);
  setrlimit(RLIMIT_CPU, &time);
  setrlimit(RLIMIT_AS, &memory);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Follows the passes of one module. The pass manager destroys this object
/// after the module has been printed; MLIR then reads the next part of a split
/// file.
class GuardedRun::Watcher : public PassInstrumentation {
public:
  Watcher(GuardedRun &run) : run(run) { print(); }
  ~Watcher() override { run.beginReading(run.inputBytes); }

  void runBeforePass(Pass *pass, Operation *op) override {
    StringRef name = pass->getArgument();
    // Passes on nested ops run inside of a pass without an argument.
    if (!name.empty())
      std::snprintf(run.progress.pass, sizeof(run.progress.pass), "%.*s",
                    static_cast<int>(name.size()), name.data());
    if (op->getParentOp())
      return;
    run.progress.step = Step::kPasses;
    run.liftLimits();
  }

  void runAfterPass(Pass *, Operation *op) override {
    if (!op->getParentOp())
      print();
  }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    runAfterPass(pass, op);
  }

private:
  void print() {
    run.progress.step = Step::kPrinting;
    run.setLimits();
  }

  GuardedRun &run;
};

void GuardedRun::beginReading(size_t bytes) {
  inputBytes = bytes;
  progress.step = Step::kReading;
  setLimits();
}

void GuardedRun::watchPasses(PassManager &manager) {
  manager.addInstrumentation(std::make_unique<Watcher>(*this));
}

void GuardedRun::finish() { progress.step = Step::kFinished; }

//===----------------------------------------------------------------------===//
// The child process
//===----------------------------------------------------------------------===//

/// The progress of this process, if it is guarded.
static Progress *ownProgress = nullptr;

static void recordError(const char *reason) {
  std::snprintf(ownProgress->error, sizeof(ownProgress->error), "%s", reason);
}

/// Prints the stack if a pass crashes. That is a defect of the compiler, and
/// not of its input.
static void handleSignal(void *) {
  if (ownProgress->step == Step::kPasses)
    llvm::sys::PrintStackTrace(llvm::errs());
}

/// Does what llvm::InitLLVM does for a process that is not guarded.
static void initialize(Progress &progress) {
  ownProgress = &progress;
  llvm::sys::SetOneShotPipeSignalFunction(
      llvm::sys::DefaultOneShotPipeSignalHandler);
  llvm::sys::AddSignalHandler(handleSignal, nullptr);
  setFatalErrorListener(recordError);
  std::set_new_handler([] {
    recordError("out of memory");
    std::abort();
  });
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) {
        recordError("out of memory");
        std::abort();
      },
      nullptr);
}

static int runInChild(Progress &progress, pid_t parent, unsigned seconds,
                      llvm::function_ref<int(GuardedRun &)> work) {
  // If the parent ends, LLVM's handler of SIGTERM removes the output of the
  // child.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent)
    std::raise(SIGTERM);
  initialize(progress);
  GuardedRun run(progress, seconds);
  int status = work(run);
  run.finish();
  llvm::llvm_shutdown();
  return status;
}

//===----------------------------------------------------------------------===//
// The parent process
//===----------------------------------------------------------------------===//

/// Returns the subject of an error message: the step during which the child
/// ended.
static std::string describe(const Progress &progress) {
  switch (progress.step) {
  case Step::kStarting:
    return "ark-opt cannot start: it";
  case Step::kReading:
    return "MLIR cannot read it: its parser or verifier";
  case Step::kPasses:
    return std::string("the compiler has a defect: pass ") + progress.pass;
  case Step::kPrinting:
    return "MLIR cannot print the module: its printer";
  case Step::kFinished:
    return "MLIR cannot free the module: ark-opt";
  }
  llvm_unreachable("unknown step");
}

/// Returns the predicate of an error message: the error, signal or status with
/// which the child ended.
static std::string describeEnd(const Progress &progress, int status) {
  if (progress.error[0])
    return std::string("failed: ") + progress.error;
  if (!WIFSIGNALED(status))
    return "ended with status " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGXCPU)
    return "exceeded its limit of processor time";
  const char *name = sigabbrev_np(WTERMSIG(status));
  return name ? std::string("ended with SIG") + name
              : "ended with signal " + std::to_string(WTERMSIG(status));
}

static int fail(StringRef file, const llvm::Twine &message) {
  // Line 0 is the whole file, as in MLIR's own messages.
  llvm::errs() << file << ":0:0: error: " << message << "\n";
  return EXIT_FAILURE;
}

static int waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return W_EXITCODE(EXIT_FAILURE, 0);
  return status;
}

int mlir::ark::runGuarded(StringRef file, unsigned seconds,
                          llvm::function_ref<int(GuardedRun &)> work) {
  void *page = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return fail(file,
                llvm::Twine("cannot share memory with a child process: ") +
                    std::strerror(errno));
  auto *progress = new (page) Progress;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    return fail(file, llvm::Twine("cannot start a child process: ") +
                          std::strerror(errno));
  if (child == 0)
    return runInChild(*progress, parent, seconds, work);

  const int status = waitFor(child);
  // LLVM ends a process with EX_IOERR if nobody reads its output.
  if (WIFEXITED(status) &&
      (progress->step == Step::kFinished || WEXITSTATUS(status) == EX_IOERR))
    return WEXITSTATUS(status);
  return fail(file, describe(*progress) + " " + describeEnd(*progress, status));
}
