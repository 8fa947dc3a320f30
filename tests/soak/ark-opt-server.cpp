//===- ark-opt-server.cpp - Runs ark-opt many times from one process ------===//
//
// Loading MLIR takes longer than most inputs of a fuzzer do. This server loads
// it once, and runs every command in a fork of itself, which may crash or hang.
//
// A line of standard input is one command with fields separated by tabs: the
// files for standard output and standard error, and the arguments of ark-opt.
// The server answers with two lines: the id of the process that runs the
// command, so that the caller can kill it, and the status of that process as
// returned by wait(2).
//
//===----------------------------------------------------------------------===//

#include "lib/capi/ark-c/Tools.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/// Fields of a command before the arguments.
static constexpr size_t kFiles = 2;

static std::vector<std::string> split(const std::string &line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

/// Makes a stream of this process read or write a file.
static void redirect(int stream, const char *file, int flags) {
  int opened = open(file, flags, 0600);
  if (opened < 0 || dup2(opened, stream) < 0)
    _exit(127);
  close(opened);
}

/// Runs ark-opt in this process.
[[noreturn]] static void runCommand(std::vector<std::string> &fields) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, fields[0].c_str(), kWrite);
  redirect(STDERR_FILENO, fields[1].c_str(), kWrite);
  std::vector<char *> arguments;
  char name[] = "ark-opt";
  arguments.push_back(name);
  for (size_t i = kFiles; i < fields.size(); ++i)
    arguments.push_back(fields[i].data());
  int status = arkOptMain(static_cast<int>(arguments.size()), arguments.data());
  // Exit handlers belong to the server.
  std::fflush(nullptr);
  _exit(status);
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> fields = split(line);
    if (fields.size() < kFiles) {
      std::fprintf(stderr, "ark-opt-server: no command: %s\n", line.c_str());
      return 1;
    }
    pid_t child = fork();
    if (child < 0) {
      std::perror("ark-opt-server: fork");
      return 1;
    }
    if (child == 0)
      runCommand(fields);
    std::cout << child << std::endl;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR) {
        std::perror("ark-opt-server: waitpid");
        return 1;
      }
    std::cout << status << std::endl;
  }
  return 0;
}
