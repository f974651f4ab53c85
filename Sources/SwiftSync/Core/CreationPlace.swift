public import CSyncKernel

/// The name of an object, or the file and line that made it. Two words behind the kernel's object hold either, where
/// reports about that object find it. A place is never copied: it refers to a static string. A name is copied once, and
/// belongs to the object.
extension csk_place_t {
    /// The place of an object without a recorded place.
    @inlinable
    static var unknown: csk_place_t { unsafe csk_place_t(text: nil, line: 0) }

    /// A place in the source. A line of 0 would make the file a name.
    @inlinable
    static func at(_ fileID: StaticString, _ line: UInt) -> csk_place_t {
        let text = unsafe UnsafeRawPointer(fileID.utf8Start).assumingMemoryBound(to: CChar.self)
        return unsafe csk_place_t(text: text, line: UInt64(line == 0 ? 1 : line))
    }

    /// A copy of the name; the place if the name is nil or empty. Control characters become spaces, so that reports
    /// stay on one line.
    @inlinable
    @inline(__always)
    static func named(_ name: String?, _ fileID: StaticString, _ line: UInt) -> csk_place_t {
        guard let name, !name.isEmpty else { return unsafe at(fileID, line) }
        return unsafe copy(of: name)
    }

    @usableFromInline
    static func copy(of name: String) -> csk_place_t {
        let bytes = name.utf8, text = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() {
            unsafe text[index] = CChar(bitPattern: byte < 32 || byte == 127 ? 32 : byte)
        }
        unsafe text[bytes.count] = 0
        return unsafe csk_place_t(text: text, line: 0)
    }

    /// The same for code that may outlive the object. It costs an allocation where the object has a name.
    func copied() -> csk_place_t {
        guard unsafe line == 0, let text = unsafe text else { return unsafe self }
        return unsafe csk_place_t.copy(of: String(cString: text))
    }

    /// Frees the copy of a name. The object calls this at its end.
    @inlinable
    func end() {
        if unsafe line == 0, unsafe text != nil { unsafe freeName() }
    }

    @usableFromInline
    func freeName() { unsafe UnsafeMutablePointer(mutating: text)!.deallocate() }

    /// The name, or `Module/File.swift:12`, or the address of an object that has neither.
    @usableFromInline
    func name(of object: UnsafeRawPointer) -> String {
        unsafe label ?? "0x\(String(UInt(bitPattern: object), radix: 16))"
    }

    /// The same for an object that is not made; nil where it would have neither.
    var label: String? {
        guard let text = unsafe text else { return nil }
        let words = unsafe String(cString: text)
        return unsafe line == 0 ? words : "\(words):\(line)"
    }
}

/// A place as the label of an object that copies its label.
enum CreationPlace {
    /// The name, or without one the place: `Module/File.swift:12`. The kernel truncates the names of its queues, so the
    /// module is left out where both don't fit.
    static func label(_ name: String?, _ fileID: StaticString, _ line: UInt) -> String {
        if let name, !name.isEmpty { return name }
        let whole = "\(fileID):\(line)"
        guard whole.utf8.count > Int(CSK_WORKQUEUE_NAME_MAX), let slash = whole.firstIndex(of: "/") else {
            return whole
        }
        return String(whole[whole.index(after: slash)...])
    }
}
