/// What a function of the kernel prints, piece by piece, as one text; or else what its status means, as a line.
///
/// - Parameter print: calls that function with what takes the pieces, and its context.
func printedText(
    _ print: (@convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int32, UnsafeMutableRawPointer) ->
        Int32
) -> String {
    var text = [UInt8]()
    let status = unsafe withUnsafeMutablePointer(to: &text) { pointer in
        unsafe print(
            { context, bytes, size in
                let text = unsafe context!.assumingMemoryBound(to: [UInt8].self)
                unsafe text.pointee.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: size))
                return 0
            }, pointer)
    }
    return status == 0 ? String(decoding: text, as: UTF8.self) : "\(statusText(status))\n"
}
