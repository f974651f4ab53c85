import CSyncKernel

/// The kernel's line of text for a status, for messages.
func statusText(_ status: Int32) -> String {
    unsafe String(cString: csk_status_text(status))
}
