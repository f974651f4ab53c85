import NIOCore

/// What a connection is told when the server wants to stop.
struct DrainRequest: Sendable {}

/// One client: bytes in, requests through the engine, replies out in the order of the requests.
///
/// While a batch runs elsewhere, or the client does not take its replies, nothing more is parsed and nothing more is
/// read: the input waits where it is, and the client's own window closes. That keeps both the order and the memory.
final class ConnectionHandler<E: Engine>: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case open
        /// No request will be taken any more; what was taken is being answered.
        case ending
        /// All replies are on their way, and input is thrown away until the client has closed its side.
        case lingering
    }

    /// How much is encoded before it is handed to the channel.
    private static var outputSize: Int { 64 << 10 }

    private let engine: E
    private let clock: ServerClock
    private var parser = RequestParser()
    private var session: Session
    private var phase = Phase.open
    private var inputs = CircularBuffer<ByteBuffer>(initialCapacity: 4)
    private var output = ReplyEncoder(buffer: ByteBuffer())
    /// Whether something was written to the channel and not flushed.
    private var needsFlush = false
    /// Whether a batch runs elsewhere, or its replies are being sent.
    private var isBusy = false
    /// A slow or costly command that must wait for the batch before it.
    private var waiting: QueuedWork?
    /// Whether the channel asked to read and was not let.
    private var wantsRead = false

    init(engine: E, clock: ServerClock, server: ServerFacts) {
        self.engine = engine
        self.clock = clock
        session = Session(id: server.statistics.connectionOpened(), server: server)
        server.log(.verbose, "client \(session.id): connected")
    }

    // MARK: Events

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase == .open else { return }
        inputs.append(unwrapInboundIn(data))
        process(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        proceed(context)
    }

    func read(context: ChannelHandlerContext) {
        if mayRead(context) { context.read() } else { wantsRead = true }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is DrainRequest else { return context.fireUserInboundEventTriggered(event) }
        if phase == .open { phase = .ending }
        proceed(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .lingering
        inputs.removeAll()
        session.server.statistics.connectionClosed()
        session.server.log(.verbose, "client \(session.id): gone")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A broken connection: there is nobody left to tell.
        context.close(promise: nil)
    }

    // MARK: Requests

    private func mayRead(_ context: ChannelHandlerContext) -> Bool {
        switch phase {
        case .open: !isBusy && inputs.isEmpty && context.channel.isWritable
        case .ending: false
        case .lingering: true
        }
    }

    /// Goes on after something that was waited for has happened.
    private func proceed(_ context: ChannelHandlerContext) {
        process(context)
        flush(context)
        if wantsRead, mayRead(context) {
            wantsRead = false
            context.read()
        }
    }

    /// Answers as many requests as can be answered now.
    private func process(_ context: ChannelHandlerContext) {
        guard !isBusy, phase != .lingering else { return }
        session.now = clock.now()
        var batch: [QueuedWork] = []
        var count = 0
        while !isBusy, context.channel.isWritable, let request = nextRequest(&batch) {
            count += 1
            let work = CommandTable.shared.plan(request, &session)
            session.server.log(.debug, "client \(session.id): \(session.command)")
            handle(work, &batch, context)
        }
        if count > 0 { session.server.statistics.commandsRead(count) }
        if !batch.isEmpty { start(batch, context) }
        writeOutput(context)
        if phase == .ending, !isBusy, inputs.isEmpty { linger(context) }
    }

    /// The next request from the input, which ends after a malformed one.
    private func nextRequest(_ batch: inout [QueuedWork]) -> Request? {
        while !inputs.isEmpty {
            do throws(ProtocolError) {
                if let request = try parseFirstInput() { return request }
                inputs.removeFirst()
            } catch {
                if let message = error.message { emit(.error(message), &batch) }
                end()
            }
        }
        return nil
    }

    private func parseFirstInput() throws(ProtocolError) -> Request? {
        var offset = 0
        var result: Result<Request?, ProtocolError> = .success(nil)
        inputs[inputs.startIndex].withUnsafeReadableBytes { bytes in
            do throws(ProtocolError) {
                result = .success(try parser.next(in: bytes, from: &offset))
            } catch {
                result = .failure(error)
            }
        }
        inputs[inputs.startIndex].moveReaderIndex(forwardBy: offset)
        return try result.get()
    }

    private func handle(_ work: Work, _ batch: inout [QueuedWork], _ context: ChannelHandlerContext) {
        switch work {
        case .reply(let reply):
            emit(reply, &batch)
        case .close(let reply):
            if let reply { emit(reply, &batch) }
            end()
        case .slow, .costly:
            let queued = QueuedWork(work, session)
            if batch.isEmpty {
                start(queued, context)
            } else {
                waiting = queued
                start(batch, context)
                batch = []
            }
        case .key, .keys, .count, .info:
            if E.answersInPlace {
                emit(engine.answer(work, session), &batch)
                if output.buffer.readableBytes >= Self.outputSize { writeOutput(context) }
            } else {
                batch.append(QueuedWork(work, session))
            }
        }
    }

    /// Answers now, or behind the answers that are still to come.
    private func emit(_ reply: Reply, _ batch: inout [QueuedWork]) {
        if batch.isEmpty {
            output.version = session.version
            output.write(reply)
        } else {
            batch.append(QueuedWork(.reply(reply), session))
        }
    }

    private func end() {
        phase = .ending
        inputs.removeAll()
    }

    // MARK: Work done elsewhere

    private func start(_ batch: [QueuedWork], _ context: ChannelHandlerContext) {
        isBusy = true
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        engine.run(batch, server: session.server) { replies in
            eventLoop.execute {
                let (handler, context) = me.value
                handler.send([replies], context)
            }
        }
    }

    private func start(_ queued: QueuedWork, _ context: ChannelHandlerContext) {
        switch queued.work {
        case .slow(let command): start(command, queued, context)
        case .costly(let command): start(command, queued, context)
        case .reply, .close, .key, .keys, .count, .info: preconditionFailure("this work is done in place or in a batch")
        }
    }

    /// On the threads of the server's admission, when it lets the command in. What costs nothing needs none.
    private func start(_ command: CostlyCommand, _ queued: QueuedWork, _ context: ChannelHandlerContext) {
        isBusy = true
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let (server, eventLoop) = (session.server, context.eventLoop)
        let finish: @Sendable (Reply) -> Void = { reply in
            let replies = encoded(reply, queued.version)
            eventLoop.execute {
                let (handler, context) = me.value
                handler.send([replies], context)
            }
        }
        engine.withValue(of: command.key, now: queued.now) { value in
            switch command.find(in: value) {
            case .answer(let reply):
                finish(reply)
            case .list(let list):
                server.costly.run(queued.priority) {
                    finish(server.watch(queued.command) { command.answer(from: list) })
                }
            }
        }
    }

    /// On the queue for slow commands; one that finds it full is answered so.
    private func start(_ command: SlowCommand, _ queued: QueuedWork, _ context: ChannelHandlerContext) {
        isBusy = true
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let (engine, server, eventLoop) = (engine, session.server, context.eventLoop)
        let isAccepted = server.background.runSlow {
            let pieces = engine.run(command, queued, server)
            eventLoop.execute {
                let (handler, context) = me.value
                handler.send(pieces[...], context)
            }
        }
        if isAccepted { return }
        server.statistics.commandRefused()
        eventLoop.execute {
            let (handler, context) = me.value
            handler.send([encoded(.busy, queued.version)], context)
        }
    }

    /// Sends piece by piece, each when the one before is gone, so that a long reply does not keep others off the loop.
    private func send(_ pieces: ArraySlice<ByteBuffer>, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        guard pieces.count > 1 else {
            if let last = pieces.first { write(last, context) }
            return finishBatch(context)
        }
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let rest = pieces.dropFirst()
        context.writeAndFlush(wrapOutboundOut(pieces[pieces.startIndex])).whenSuccess {
            let (handler, context) = me.value
            handler.send(rest, context)
        }
    }

    private func finishBatch(_ context: ChannelHandlerContext) {
        if let next = waiting {
            waiting = nil
            start(next, context)
            flush(context)
        } else {
            isBusy = false
            proceed(context)
        }
    }

    // MARK: Replies

    private func writeOutput(_ context: ChannelHandlerContext) {
        guard output.buffer.readableBytes > 0 else { return }
        write(output.buffer, context)
        if output.buffer.capacity > 2 * Self.outputSize {
            output.buffer = ByteBuffer()
        } else {
            output.buffer.clear()
        }
    }

    private func write(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(buffer), promise: nil)
        needsFlush = true
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard needsFlush else { return }
        needsFlush = false
        context.flush()
    }

    /// Closes so that the last replies arrive.
    ///
    /// Closing while unread input is left would reset the connection, and the reset may overtake the replies. So only
    /// the sending side is closed at first; the rest follows when the client closes, or after a short while.
    private func linger(_ context: ChannelHandlerContext) {
        phase = .lingering
        let me = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            me.value.close(mode: .output, promise: nil)
            me.value.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(200)) {
                me.value.close(promise: nil)
            }
            me.value.read()
        }
    }
}
