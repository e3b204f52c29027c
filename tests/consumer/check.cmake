# Distributed under the Boost Software License, Version 1.0.
# Configures, builds and runs the consumer in SOURCE from nothing in BINARY, with ARGUMENTS and, for pkg-config, PREFIX.
file(REMOVE_RECURSE ${BINARY})
if(PREFIX)
  set(ENV{PKG_CONFIG_PATH} ${PREFIX}/share/pkgconfig)
endif()
foreach(step IN ITEMS "-S;${SOURCE};-B;${BINARY};${ARGUMENTS}" "--build;${BINARY}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${said}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} --output-on-failure --no-tests=error
                COMMAND_ERROR_IS_FATAL ANY)
