# Distributed under the Boost Software License, Version 1.0.
# Run by ctest for one file of this folder, with COMPILER (gcc or clang), COMMAND (a list) and SOURCE.
#
# Each file shows a mistake under #ifdef FORBIDDEN and, under #else, what to write instead. The second must compile. The
# first must not, and the compiler must say what stands in the file after "// expect:" and after "// expect-gcc:" or
# "// expect-clang:" (regular expressions): failing for another reason is a failed test. A sentence of the library's own that it is
# expected to say first must stand among its first twelve lines.

file(STRINGS ${SOURCE} wanted REGEX "^// expect(-${COMPILER})?: ")
list(TRANSFORM wanted REPLACE "^// expect[^:]*: " "")
if(NOT wanted)
  message(FATAL_ERROR "${SOURCE} does not say what ${COMPILER} is expected to say")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMMAND} ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "what to write instead does not compile:\n${said}")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${COMMAND} -DFORBIDDEN ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status EQUAL 0)
  message(FATAL_ERROR "the mistake compiles")
endif()
foreach(sentence IN LISTS wanted)
  if(NOT said MATCHES "${sentence}")
    message(FATAL_ERROR "the mistake does not compile, but this is not said:\n  ${sentence}\nbut this:\n${said}")
  endif()
endforeach()

set(top "")
set(rest "${said}\n")
foreach(line RANGE 1 12)
  string(FIND "${rest}" "\n" end)
  if(end LESS 0)
    break()
  endif()
  string(SUBSTRING "${rest}" 0 ${end} text)
  string(APPEND top "${text}\n")
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${rest}" ${end} -1 rest)
endforeach()
list(GET wanted 0 first)
if(first MATCHES "^headroom: " AND NOT top MATCHES "${first}")
  message(FATAL_ERROR "the first twelve lines do not say:\n  ${first}\nbut this:\n${top}")
endif()
