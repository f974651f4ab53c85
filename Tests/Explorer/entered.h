/* entered.h: which functions of the kernel a client enters, where they were compiled to tell: build.py --functions. */
#ifndef EXPLORER_ENTERED_H
#define EXPLORER_ENTERED_H

#include <stdbool.h>

/* From here on the addresses of functions that are entered are printed, each once a client. */
void entered_list_from(const char *client);

#endif
