# tls.h says how much thread-local storage the shared library takes of what the C library keeps for those that are
# loaded late.
#   cmake -DREADELF=... -DLIBRARY=...so -DHEADER=...tls.h -P tls_size_test.cmake
cmake_minimum_required(VERSION 3.20)
execute_process(COMMAND "${READELF}" -lW "${LIBRARY}" OUTPUT_VARIABLE segments COMMAND_ERROR_IS_FATAL ANY)
if(NOT segments MATCHES "\n *TLS +0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ (0x[0-9a-f]+)")
    message(FATAL_ERROR "no thread-local segment in\n${segments}")
endif()
math(EXPR size "${CMAKE_MATCH_1}")
file(READ "${HEADER}" text)
set(stated "initial-exec thread-local storage, ([0-9]+) bytes")
string(REGEX REPLACE "[ \n*]+" " " text "${text}")
if(NOT text MATCHES "${stated}")
    message(FATAL_ERROR "${HEADER} does not say how much")
endif()
if(NOT size EQUAL CMAKE_MATCH_1)
    message(FATAL_ERROR "${size} bytes, and ${HEADER} says ${CMAKE_MATCH_1}")
endif()
