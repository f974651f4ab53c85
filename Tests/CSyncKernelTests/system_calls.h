/* system_calls.h: a system that refuses some calls, for the rest of the calling thread's life and of those that it
 * starts. Filters add up. */
#ifndef CSK_TEST_SYSTEM_CALLS_H
#define CSK_TEST_SYSTEM_CALLS_H

#include "test.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef CSK_TEST_EMULATED
#include "emulated_calls.h"
#endif

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "name the audit architecture"
#endif

static inline void install_filter(struct sock_filter *rules, size_t count) {
    struct sock_fprog program = { (unsigned short)count, rules };
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static inline void refuse_call(long call, int error) {
#ifdef CSK_TEST_EMULATED
    emulated_refuse(call, error);
    return;
#endif
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install_filter(rules, sizeof rules / sizeof rules[0]);
}

#endif
