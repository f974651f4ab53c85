import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Shows which threads and tasks wait for which holders, even while every thread of the program is stuck.
///
/// ```swift
/// let report = SyncInspector.report()
/// for object in report.objects where !object.waiters.isEmpty {
///     print("\(object.name ?? "?"): held by \(object.holder), \(object.waitingCount) wait")
/// }
/// print(SyncInspector.text())
/// ```
///
/// Each object with waiters is shown with its holder, the time since which it has had waiters, and its waiters in the
/// order in which they will be served. The work queues that run or wait for a worker, the pool of workers, and the
/// timers are shown too.
///
/// A server that may get stuck asks for it from outside, over a Unix socket or by a signal:
///
/// ```swift
/// try SyncInspector.serve(path: "/tmp/server.waits", signal: SIGUSR2)
/// // what the server does
/// SyncInspector.stopServing()
/// ```
///
/// `socat - UNIX-CONNECT:/tmp/server.waits` then takes a line, `text` or `json`, and shows the answer. A dedicated
/// thread answers, so it needs neither a worker nor a thread of Swift's tasks.
///
/// Each object is read at one moment, different ones at different moments. A view never waits for an object: one that
/// could not be read is marked as busy. Waits of threads are always seen. Waits of tasks are seen at objects for which
/// threads wait too; at all others they are seen after ``listsTasks(_:)`` or ``serve(path:signal:)`` was called, with
/// the names of the tasks (`Task(name:)`). Among these are tasks that wait at `FIFOQueue`, `ActorQueue` and
/// `ResourcePool`, and the tasks of a `TaskQueue` with their tags. After such a call suspended work queues are seen
/// too. Work at `FIFOQueue` and `ActorQueue` that no call waits for, and tasks that `Task(on:)` has started on a
/// `FIFOQueue`, are not seen: read the counts of these objects.
public enum SyncInspector {
    /// Takes a view. It may be called from any thread, blocks for 100 ms at most while another thread takes one, and
    /// takes some microseconds for each object and each waiter. It allocates memory.
    ///
    /// - Parameter limit: the largest number of waiters, of objects and of workers to show; the rest is counted. Zero
    ///   or less shows none.
    public static func report(limit: Int = 4096) -> InspectionReport {
        InspectionReport(limit: max(0, min(limit, 1 << 20)))
    }

    /// Returns a view as text, a paragraph for each object. Otherwise it is ``report(limit:)``, with limits of its own:
    /// 1024 objects and 8192 waiters.
    public static func text() -> String { printed(UInt32(CSK_INSPECT_TEXT)) }

    /// Returns a view as one object of JSON; `docs/design/inspect.md` in the repository has its members.
    public static func json() -> String { printed(UInt32(CSK_INSPECT_JSON)) }

    private static func printed(_ format: UInt32) -> String {
        unsafe printedText { unsafe csk_inspect_print(nil, format, $0, $1) }
    }

    /// Makes views show waiting tasks at every object, even where no thread waits, with the beginnings of their waits;
    /// how long works of work queues have run; tasks of a `TaskQueue`; and suspended work queues. Then a task's wait
    /// takes a short lock twice, work reads the clock twice, and a task of a `TaskQueue` makes up to three allocations;
    /// otherwise each costs one load. Each call with true needs one with false. It never blocks.
    public static func listsTasks(_ lists: Bool) {
        csk_inspect_callbacks(lists)
    }

    /// Starts a thread that answers on a Unix socket and to a signal, whatever the program's threads are doing. It
    /// lists tasks meanwhile, as ``listsTasks(_:)`` does.
    ///
    /// The socket's file has the mode 0600, and only processes of the same user, and of root, are answered. A client
    /// writes one line, `text` or `json`, gets the view, and the connection ends. The signal writes the text to the
    /// standard error stream; output that the stream has not taken after 5 seconds, or when serving ends, is lost.
    ///
    /// - Parameters:
    ///   - path: the path of the socket; nil for none. The file of a process that has ended is replaced.
    ///   - signal: nil for none, or one that the program does not handle otherwise.
    /// - Throws: ``SyncInspectorError``.
    public static func serve(path: String?, signal: Int32? = nil) throws(SyncInspectorError) {
        let status: Int32
        if let path {
            guard !path.utf8.contains(0) else { throw .invalid }
            status = unsafe path.withCString { unsafe csk_inspect_serve($0, signal ?? 0) }
        } else {
            status = csk_inspect_serve(nil, signal ?? 0)
        }
        if status != 0 { throw SyncInspectorError(status) }
    }

    /// Stops serving: removes the socket's file, drops clients, and restores the signal's action. It blocks until the
    /// thread has ended. Without ``serve(path:signal:)`` it does nothing.
    public static func stopServing() {
        _ = csk_inspect_end_serving()
    }
}

/// Why a view is not served.
public enum SyncInspectorError: Error, Sendable, Hashable {
    /// A view is served already, or the signal has a handler of the program.
    case inUse
    /// Another process serves at the path, or the file there is no socket.
    case pathInUse
    /// Neither a path nor a signal was given, the path is empty, too long or has a zero character, or there is no such
    /// signal.
    case invalid
    /// There is no memory, or no thread.
    case outOfResources
    /// The system's error for the path, as a value of `errno`: EACCES or ENOENT for example.
    case system(Int32)

    init(_ status: Int32) {
        switch status {
        case EBUSY: self = .inUse
        case EADDRINUSE: self = .pathInUse
        case EINVAL, ENAMETOOLONG: self = .invalid
        case ENOMEM, EAGAIN: self = .outOfResources
        default: self = .system(status)
        }
    }
}
