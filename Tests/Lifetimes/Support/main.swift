import Dispatch
import Glibc

// A thread of its own: the main thread serves the main queue.
first = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1])! : 0
nonisolated(unsafe) var thread = pthread_t()
pthread_create(
    &thread, nil,
    { _ in
        probeAll()
        put("end \(failures)\n")
        exit(failures == 0 ? 0 : 1)
    }, nil)
dispatchMain()
