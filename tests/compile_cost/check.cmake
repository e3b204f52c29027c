# Distributed under the Boost Software License, Version 1.0.
# What including the core costs, by a measure that does not depend on the machine: characters that COMMAND, a compiler that preprocesses
# standard input (-E -P), makes of a header, as a multiple of <chrono>'s. bench/compile_cost.sh measures the time: where headroom.hpp has 1.76
# times the characters it takes 2.3 times as long. A standard header that one inline function wanted is the usual cause of more.
function(characters header result)
  file(CONFIGURE OUTPUT ${FOLDER}/included.cpp CONTENT "#include <${header}>\n")
  execute_process(COMMAND ${COMMAND} INPUT_FILE ${FOLDER}/included.cpp OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(LENGTH "${text}" length)
  set(${result} ${length} PARENT_SCOPE)
endfunction()

characters(chrono unit)
foreach(limit IN ITEMS headroom/headroom.hpp:215 headroom/estimate.hpp:196)
  string(REPLACE ":" ";" limit ${limit})
  list(GET limit 0 header)
  list(GET limit 1 most)
  characters(${header} length)
  math(EXPR percent "${length} * 100 / ${unit}")
  message(STATUS "${header}: ${length} characters, ${percent} % of <chrono>'s; at most ${most} %")
  if(percent GREATER most)
    message(SEND_ERROR "${header} costs more to include than it may")
  endif()
endforeach()
