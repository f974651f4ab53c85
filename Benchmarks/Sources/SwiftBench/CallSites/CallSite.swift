/// One of the forms in which programs hold a value, with a loop around one call there.
struct CallSite {
    let form: String
    /// Calls so many times.
    let calls: (Int) -> Void

    /// All forms in which `type` holds its value.
    static func all<What: Held>(_ type: What.Type) -> [CallSite] {
        let held = What(), actor = What.ByActor(), captured = held.capturing(), callable = opaque(held)
        return [
            CallSite(form: "let property of a class") { for _ in 0..<$0 { held.ofConstant() } },
            CallSite(form: "var property of a class") { for _ in 0..<$0 { held.ofVariable() } },
            CallSite(form: "property of an actor") { times in
                actor.assumeIsolated { for _ in 0..<times { $0.call() } }
            },
            CallSite(form: "static property") { for _ in 0..<$0 { What.ofStatic() } },
            CallSite(form: "capture") { for _ in 0..<$0 { captured() } },
            CallSite(form: "array element") { for _ in 0..<$0 { held.ofElement(1) } },
            CallSite(form: "through a protocol") { calls(callable, $0) },
        ]
    }

    /// A function of its own, which is given its object and so need not retain it each time.
    @inline(never)
    private static func calls(_ callable: any Callable, _ times: Int) { for _ in 0..<times { callable.call() } }

    /// Hides from the optimizer what conforms.
    @inline(never) @_optimize(none)
    private static func opaque(_ callable: any Callable) -> any Callable { callable }
}
