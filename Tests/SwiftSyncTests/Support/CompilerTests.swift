import Testing

/// What users are told at compile time, and what they aren't.
@Suite(.serialized) struct CompilerTests {
    private static let threadLocals = """
        import SwiftSync
        final class Parser { var depth = 0 }
        final class Other {}
        @available(*, unavailable) extension Other: @unchecked Sendable {}
        let own = ThreadLocalValue<Parser>(key: "parser") { _ in Parser() }
        func use() {
            _ = own.value()
            _ = own.cachedValue()
            own.setValue(nil)
            own.set(Parser())
            own.withValue { $0?.depth += 1 }
            let depth = own.withValue { $0?.depth ?? 0 }
            own.withValue { $0 = Parser() }
            own.withValue { $0 = nil }
            _ = depth
        }
        struct Holder<Value> {
            let held: ThreadLocalValue<Value>
            func get() -> Value? { held.value() }
            func count() -> Int { held.withValue { $0 == nil ? 0 : 1 } }
        }
        func useOther() { _ = ThreadLocalValue<Other>(key: "other").value() }
        let text = ThreadLocalValue<String>(key: "text")
        func send() async -> Int {
            let value = text.value()
            return await Task.detached { value?.count ?? 0 }.value
        }
        """

    /// Such a value could be sent to another task without a warning.
    @Test
    func handingOutAThreadLocalValueThatIsNotSendableIsAWarning() async throws {
        let said = try await Compiler.says(of: Self.threadLocals, languageMode: 6)
        #expect(said.map { $0.prefix { $0 != ":" } } == ["7", "8", "9", "10", "19", "22"])
        #expect(
            said.allSatisfy {
                $0.contains("warning: ") && $0.contains("the value is not Sendable") && $0.contains("use withValue { }")
            })
    }

    @Test
    func inLanguageMode5NothingIsSaid() async throws {
        #expect(try await Compiler.says(of: Self.threadLocals, languageMode: 5) == [])
    }

    @Test
    func aThreadLocalValueThatIsNotSendableNeitherGetsOutNorInWhileItIsUsedElsewhere() async throws {
        let said = try await Compiler.says(
            of: """
                import SwiftSync
                final class Parser { var depth = 0 }
                let own = ThreadLocalValue<Parser>(key: "parser") { _ in Parser() }
                func getsOut() async {
                    var out: Parser?
                    own.withValue { out = $0 }
                    let got = out
                    await Task.detached { got?.depth = 1 }.value
                }
                func isStillUsed(_ parser: Parser) {
                    own.withValue { $0 = parser }
                    parser.depth = 1
                }
                """, languageMode: 6)
        #expect(
            said.map { $0.prefix { $0 != ":" } } == ["6", "11"]
                && said.allSatisfy { $0.contains("error: 'inout sending' parameter") })
    }

    @Test
    func aSnapshotDictionarysSubscriptOnlyReads() async throws {
        let said = try await Compiler.says(
            of: """
                import SwiftSync
                let hits = SnapshotDictionary<String, Int>()
                func count() {
                    hits["/"]! += 1
                    hits["/"] = 1
                    hits["/"] = nil
                    hits.update(forKey: "/", default: 0) { $0 += 1 }
                    let deeper: Int? = hits.update(forKey: "/", default: 0) { $0 += 1; return $0 }
                    _ = (hits["/"], deeper)
                }
                """, languageMode: 6)
        #expect(said.map { $0.prefix { $0 != ":" } } == ["4", "5", "6"])
        #expect(said.allSatisfy { $0.contains("error: ") && $0.contains("subscript is get-only") })
    }

    /// Each with the name of what to use instead.
    @Test
    func callsThatBlockWithoutALimitAreNotForAsyncCode() async throws {
        let source = """
            import SwiftSync
            func use(_ elements: BlockingPriorityQueue<Int>) async {
                elements.push(1)
                _ = elements.pop()
                WorkQueue(name: "queue").sync {}
                ConcurrentWorkQueue(name: "queue").sync(barrier: true) {}
                ReadWriteCoordinator().drain()
            }
            """
        let messages = [
            "try await suspending.push(_:priority:)", "try await suspending.pop()",
            "use await run { }, or sync(timeout:)",
            "use await run(barrier:)", "try await suspending.drain()",
        ]
        for (mode, kind) in [(5, "warning"), (6, "error")] {
            let said = try await Compiler.says(of: source, languageMode: mode)
            #expect(said.map { $0.prefix { $0 != ":" } } == ["3", "4", "5", "6", "7"])
            #expect(
                zip(said, messages).allSatisfy {
                    $0.contains("\(kind): ") && $0.contains("unavailable from asynchronous contexts") && $0.contains($1)
                })
        }
    }

    /// What part 1 has, sections, reads, and what tries or has a limit may be called from anywhere.
    @Test
    func allOthersAreForAsyncCodeToo() async throws {
        let source = """
            import Dispatch
            import SwiftSync
            struct Job: TaskQueue.Task {
                var tag: String { "job" }
                func execute(queueLock: QueueLock) { queueLock.release() }
            }
            enum Named: String, NamedQueue { case log }
            func use() async throws {
                let value = QueueSafeValue(value: 0), coordinator = ReadWriteCoordinator(), section = CriticalSection()
                value.wait.lowestPriority.set { $0 += 1 }
                _ = value.wait.highestPriority.get()
                _ = QueueSafeSyncedValue(value: 0).lowestPriority.map { $0 }
                _ = coordinator.read { 1 }
                coordinator.blockingWrite {}
                coordinator.enqueueWrite {}
                section.execute {}
                _ = section.execute(timeout: 1.0) {}
                Named.log.sync {}
                TaskQueue.getQueue(identifier: "jobs").push(task: Job())
                CommandQueue().perform()
                _ = PriorityMutex(0).withLock { $0 }
                _ = ReadWriteLock(0).withReadLock { $0 }
                _ = ReadWriteLock(0).withWriteLock { $0 }
                let elements = BlockingPriorityQueue<Int>()
                _ = elements.tryPush(1)
                _ = elements.tryPop()
                try elements.push(1, timeout: .seconds(1))
                _ = try elements.pop(timeout: .seconds(1))
                _ = elements.takeAll()
                let queue = WorkQueue(name: "queue")
                _ = try queue.sync(timeout: .seconds(1)) { 1 }
                try await queue.drain(timeout: .seconds(1))
                try await queue.drain()
            }
            """
        for mode in [5, 6] { #expect(try await Compiler.says(of: source, languageMode: mode) == []) }
        let snapshots = """
            import SwiftSync
            func use() async {
                _ = Snapshot(0).read { $0 }
                Snapshot(0).update { $0 += 1 }
            }
            """
        for mode in [5, 6] { #expect(try await Compiler.says(of: snapshots, languageMode: mode) == []) }
    }
}
