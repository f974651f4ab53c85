/// Stops the program unless `condition` holds. It is for threads and processes of their own, where `#expect` has no
/// test to report to. A `precondition` would not do: -Ounchecked leaves it out, with the calls in its condition.
func mustHold(
    _ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String = "it does not hold",
    file: StaticString = #file, line: UInt = #line
) rethrows {
    guard try condition() else { fatalError(message(), file: file, line: line) }
}
