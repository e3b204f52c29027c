# Distributed under the Boost Software License, Version 1.0.
# Installs from BUILD to STAGING and moves the result to PREFIX: nothing in it may remember where it was put first.
file(REMOVE_RECURSE ${STAGING} ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${STAGING} --component headroom_development
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${STAGING} ${PREFIX})
file(GLOB_RECURSE installed ${PREFIX}/*.cmake ${PREFIX}/*.pc)
foreach(file IN LISTS installed)
  file(READ ${file} text)
  foreach(place IN ITEMS ${STAGING} ${BUILD} ${SOURCE})
    string(FIND "${text}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${place}")
    endif()
  endforeach()
endforeach()
