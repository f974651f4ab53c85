import CSyncKernel

/// The kernel's line of text for a status, for messages.
func statusText(_ status: Int32) -> String {
    unsafe String(cString: csk_status_text(status))
}

/// The text in an array of characters of a struct of the kernel's, up to the zero that ends it; nil where it is empty.
func fieldText<Characters>(_ field: Characters) -> String? {
    let text = unsafe withUnsafeBytes(of: field) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return text.isEmpty ? nil : text
}

/// Returns the output of a kernel function that prints piece by piece, as one piece, and the function's status.
///
/// - Parameter print: calls that function with the sink for the pieces, and its context.
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

/// Returns the output of a kernel function as text; on failure, the meaning of the status as a line.
func printedText(_ print: (csk_print_t, UnsafeMutableRawPointer) -> Int32) -> String {
    let (status, bytes) = unsafe printedBytes(print)
    return status == 0 ? String(decoding: bytes, as: UTF8.self) : "\(statusText(status))\n"
}
