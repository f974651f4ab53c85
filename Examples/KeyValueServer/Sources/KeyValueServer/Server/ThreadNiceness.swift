#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Gives the calling thread the smallest share of a busy processor, so that long work off the event loops does not take
/// theirs.
///
/// On Linux niceness belongs to the thread, and raising it needs no privilege; elsewhere nothing happens.
func yieldProcessorToOthers() {
    #if os(Linux)
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
    #endif
}
