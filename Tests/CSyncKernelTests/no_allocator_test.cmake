# Only the modules named here refer to an allocator, each for what a thread keeps or a call creates; all others need
# their caller's memory, or a stack, and nothing else.
#   cmake -DNM=... -DLIBRARY=...a -P no_allocator_test.cmake
set(allocating tls name reads rcu rcu_map snapshot block workqueue_life rwlock_work platform_threads slots
    order deadlock_print places pprof symbols inspect_print inspect_server)
execute_process(COMMAND "${NM}" -A --undefined-only "${LIBRARY}" OUTPUT_VARIABLE names RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
if(NOT names MATCHES " pthread_create\n" OR NOT names MATCHES ":tls.c.o:[^\n]* [a-z]*alloc\n")
    message(FATAL_ERROR
            "pthread_create, or the allocations of tls.c, are not among the names; were they read?\n${names}")
endif()
set(allocator "[A-Za-z_]*(alloc|memalign|strn?dup|mmap|fopen|asprintf|_Zn)[A-Za-z_]*")
string(REGEX MATCHALL "[a-z_]+\\.c\\.o:[^\n]* ${allocator}" allocators "${names}")
foreach(name ${allocators})
    string(REGEX REPLACE "\\.c\\.o:.*" "" module "${name}")
    list(FIND allocating "${module}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "${name}")
    endif()
endforeach()
