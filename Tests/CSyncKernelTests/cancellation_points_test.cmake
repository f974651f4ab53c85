# No function of the library is a cancellation point: it refers to none of POSIX's, nor to one that the C library adds,
# but where the module named here has disabled cancellation around it. System calls that wait go through syscall, which
# is none.
#   cmake -DNM=... -DLIBRARY=...a -P cancellation_points_test.cmake
cmake_minimum_required(VERSION 3.20)
set(points
    accept accept4 aio_suspend clock_nanosleep close connect creat epoll_pwait epoll_wait fcntl fcntl64 fdatasync fsync
    getmsg getpmsg getrandom lockf lockf64 mq_receive mq_send mq_timedreceive mq_timedsend msgrcv msgsnd msync nanosleep
    open open64 openat openat64 pause poll ppoll pread pread64 preadv pselect pthread_clockjoin_np
    pthread_cond_clockwait pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel pthread_timedjoin_np
    putmsg pwrite pwrite64 pwritev read readv recv recvfrom recvmsg select sem_clockwait sem_timedwait sem_wait send
    sendmsg sendto sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice system tcdrain tee usleep vmsplice
    wait wait3 wait4 waitid waitpid write writev
    # The streams of stdio may be.
    fclose fflush fgetc fgets fopen fopen64 fprintf fputc fputs fread fwrite getc getchar getdelim getline opendir
    perror popen printf putc putchar puts readdir readdir64 scandir syslog vfprintf vprintf __fprintf_chk __printf_chk
    __vfprintf_chk __read_chk __poll_chk __open_2 __openat_2)
set(allowed pqueue.c.o:pthread_cond_wait pqueue.c.o:pthread_cond_clockwait)
set(of_files symbols.c.o:open symbols.c.o:read symbols.c.o:close) # between csk_places_open and csk_places_close
if(DEFINED GLIBC AND NOT GLIBC)
    set(allowed pqueue.c.o:pthread_cond_wait pqueue.c.o:pthread_cond_timedwait)
endif()
list(APPEND allowed ${of_files})

execute_process(COMMAND "${NM}" -A --undefined-only "${LIBRARY}" OUTPUT_VARIABLE names RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
string(REGEX MATCHALL "[a-z_]+\\.c\\.o:[^\n]* [A-Za-z0-9_]+" references "${names}")
set(found 0)
foreach(reference ${references})
    string(REGEX REPLACE "^([a-z_]+\\.c\\.o):.* ([A-Za-z0-9_]+)$" "\\1:\\2" reference "${reference}")
    string(REGEX REPLACE "^.*:" "" name "${reference}")
    if(reference IN_LIST allowed)
        math(EXPR found "${found} + 1")
    elseif(name IN_LIST points)
        message(FATAL_ERROR "a cancellation point: ${reference}")
    endif()
endforeach()
list(LENGTH allowed expected)
if(NOT found EQUAL expected)
    message(FATAL_ERROR "${found} of ${allowed} are among the names; were they read?\n${names}")
endif()
