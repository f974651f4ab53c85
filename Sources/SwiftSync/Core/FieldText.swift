/// The text in an array of characters of a struct of the kernel's, up to the zero that ends it; nil where it is empty.
func fieldText<Characters>(_ field: Characters) -> String? {
    let text = unsafe withUnsafeBytes(of: field) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return text.isEmpty ? nil : text
}
