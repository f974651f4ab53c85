#include "wait/announce.h"

_Thread_local uint32_t *csk_announced __attribute__((tls_model("initial-exec")));
uint32_t csk_announced_count;
