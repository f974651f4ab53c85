/* torture_stops.h: threads that are stopped by a handler of a signal. */
#ifndef CSK_TORTURE_STOPS_H
#define CSK_TORTURE_STOPS_H

struct crowd;
void torture_stops_begin(struct crowd *crowd);
void torture_stops_end(struct crowd *crowd);
void torture_handle(int signal_number, void (*handler)(int));

#endif
