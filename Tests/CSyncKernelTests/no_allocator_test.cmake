# The library refers to no allocator: what it needs is its caller's memory, or on a stack.
#   cmake -DNM=... -DLIBRARY=... -P no_allocator_test.cmake
execute_process(COMMAND "${NM}" -D --undefined-only "${LIBRARY}" OUTPUT_VARIABLE names RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
if(NOT names MATCHES " pthread_create[@\n]")
    message(FATAL_ERROR "pthread_create is not among the names; were they read?\n${names}")
endif()
string(REGEX MATCHALL " [A-Za-z_]*(alloc|memalign|strn?dup|mmap|fopen|asprintf|_Zn)[A-Za-z_]*" allocators "${names}")
if(allocators)
    message(FATAL_ERROR "the library refers to${allocators}")
endif()
