#if Metrics && ServiceLifecycle

public import ServiceLifecycle

/// ```swift
/// let metrics = SyncMetricsPublisher(interval: .seconds(10))
/// let group = ServiceGroup(services: [server, metrics], logger: logger)
/// ```
///
/// It needs the package's trait `ServiceLifecycle` too.
extension SyncMetricsPublisher: Service {
    /// Calls ``publish()`` at once, and then after each `interval`, until the group shuts down or the task is
    /// cancelled, and once more then. It ends without an error.
    public func run() async {
        await cancelWhenGracefulShutdown { try? await self.run(every: self.interval) }
    }
}

#endif
