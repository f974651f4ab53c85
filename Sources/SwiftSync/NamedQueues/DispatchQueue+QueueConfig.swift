public import Dispatch

extension DispatchQueue {
    /// Makes a plain dispatch queue, serial or concurrent, with the configuration's name and quality of service. Each
    /// call makes another queue.
    ///
    /// ```swift
    /// let config = QueueConfig(queueID: "com.example.network", qos: .userInitiated, serial: false)
    /// let network = DispatchQueue(config: config)
    /// network.async { connect() }
    /// ```
    public convenience init(config: QueueConfig) {
        self.init(label: config.queueID.rawValue, qos: config.qos, attributes: config.serial ? [] : .concurrent)
    }
}
