/* refuse_membarrier.c: runs a command in a system without membarrier, as in a sandbox that refuses it.
 *
 *     refuse_membarrier COMMAND [ARGUMENT ...]
 *
 * scripts/test-arm64 builds it for the machine that the emulator runs on, since the emulator hands this call on. */
#include "system_calls.h"

#include <errno.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    refuse_call(SYS_membarrier, EPERM);
    if (syscall(SYS_membarrier, 0, 0, 0) >= 0 || errno != EPERM) return 3;
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
