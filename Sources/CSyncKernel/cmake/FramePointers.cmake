# Call stacks are followed by frame pointers (src/observe/stack.h), from where a thread or a callback begins to wait, or
# is let in, to the caller of the library. So what lies on that way keeps frame pointers. What only enters or leaves
# does without: it is short, leaves the register alone, and would pay for it.
function(csynckernel_keep_frame_pointers)
    foreach(source ${ARGN})
        if(source MATCHES "/src/(wait|lock|observe)/[^/]*$"
           OR source MATCHES "/src/base/hooks\\.c$"
           OR source MATCHES "/src/queue/workqueue_wait\\.c$"
           OR source MATCHES "/src/readwrite/rwlock_(async|queue|wait)\\.c$")
            set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS -fno-omit-frame-pointer)
        endif()
    endforeach()
endfunction()
