import CSyncKernel

/// What a function of the kernel prints, piece by piece, as one piece, and the status that it returns.
///
/// - Parameter print: calls that function with what takes the pieces, and its context.
func printedBytes(_ print: (csk_print_t, UnsafeMutableRawPointer) -> Int32) -> (status: Int32, bytes: [UInt8]) {
    var printed = [UInt8]()
    let status = unsafe withUnsafeMutablePointer(to: &printed) { pointer in
        unsafe print(
            { context, bytes, size in
                let printed = unsafe context!.assumingMemoryBound(to: [UInt8].self)
                unsafe printed.pointee.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: size))
                return 0
            }, pointer)
    }
    return (status, printed)
}

/// What a function of the kernel prints, as text; or else what the status means, as a line.
func printedText(_ print: (csk_print_t, UnsafeMutableRawPointer) -> Int32) -> String {
    let (status, bytes) = unsafe printedBytes(print)
    return status == 0 ? String(decoding: bytes, as: UTF8.self) : "\(statusText(status))\n"
}
