# Fails if a file of a library includes a file of a folder that the library does not use.
#
#   cmake -Dfolder=<folder> -Duses=<folders> -Dfiles=<paths> -Dstamp=<path> -P CheckIncludes.cmake
#
# Folders are relative to the root of the project; `folder` is the one of the library. Writes
# `stamp`. A path in quotes begins at the root; paths relative to the file would escape the check.

cmake_minimum_required(VERSION 3.24)

set(include "^[ \t]*#[ \t]*include[ \t]*")
set(path "([^\">]*)/[^/\">]+")

set(found "")
foreach(file ${files})
  file(STRINGS ${file} lines REGEX "${include}[<\"](dialects|lib|passes|tests)/[^\">]+[\">]")
  foreach(line ${lines})
    string(REGEX REPLACE "${include}[<\"]${path}[\">].*$" "\\1" included "${line}")
    if(NOT included STREQUAL folder AND NOT included IN_LIST uses)
      string(APPEND found "\n  ${file}: ${line}\n    ${folder} does not use ${included}")
    endif()
  endforeach()
  file(STRINGS ${file} lines REGEX "${include}\"")
  foreach(line ${lines})
    if(NOT line MATCHES "\"(ark-c|dialects|lib|passes|tests|mlir|mlir-c|llvm|llvm-c|lld)/")
      string(APPEND found "\n  ${file}: ${line}\n    is not a path from the root")
    endif()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "Forbidden includes. The CMakeLists.txt of a folder lists the folders that it "
                      "uses.${found}")
endif()
file(WRITE ${stamp} "")
