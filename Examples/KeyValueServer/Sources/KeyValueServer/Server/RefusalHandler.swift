import NIOCore

/// A client too many: it is told so, and let go.
final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        let me = NIOLoopBound(context, eventLoop: context.eventLoop)
        let reply = encoded(.failure("ERR max number of clients reached"), .resp2)
        context.writeAndFlush(wrapOutboundOut(reply)).whenComplete { _ in me.value.close(promise: nil) }
    }
}
