import Dispatch
import NIOCore
import Synchronization

/// The open connections, so that the server can ask them to finish and wait until they have.
final class ConnectionRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isDraining = false
    }

    private let state = Mutex(State())
    private let open = DispatchGroup()

    /// Keeps a new connection until it is closed. One that comes too late is turned away.
    ///
    /// - Returns: false, and nothing was done, if there are `limit` connections already.
    func add(_ channel: any Channel, limit: Int) -> Bool {
        let (isLate, isFull) = state.withLock { state in
            let isFull = state.channels.count >= limit
            if !state.isDraining && !isFull { state.channels[ObjectIdentifier(channel)] = channel }
            return (state.isDraining, isFull)
        }
        if isLate {
            channel.close(promise: nil)
            return true
        }
        if isFull { return false }
        open.enter()
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
            open.leave()
        }
        return true
    }

    /// Asks all connections to answer what they have received and to close.
    ///
    /// - Returns: whether all of them had closed before the time was over. The rest was then closed as it was.
    func drain(until deadline: ContinuousClock.Instant) -> Bool {
        let channels = state.withLock { state in
            state.isDraining = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(DrainRequest()) }
        if open.wait(timeout: .now() + max(.zero, deadline - .now) / .seconds(1)) == .success { return true }
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
        return false
    }
}
