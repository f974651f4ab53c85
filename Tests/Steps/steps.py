"""The steps of scripts/test: what each runs, what it depends on, and what it is."""
from dataclasses import dataclass

# What a step depends on: patterns in which * stands for slashes too. What is only compiled, or shows what Swift's
# compiler makes of the interface, does not depend on the kernel's sources.
HEADERS = ("Sources/CSyncKernel/include/*", "Sources/CURCU/*")
KERNEL = HEADERS + ("Sources/CSyncKernel/src/*",)
SWIFT = ("Sources/SwiftSync/*.swift",)
INTERFACE = HEADERS + SWIFT + ("Package.swift",)
LIBRARY = KERNEL + SWIFT + ("Package.swift",)
C_TESTS = ("Tests/CSyncKernelTests/*", "Tests/Fuzz/*.c", "Tests/Fuzz/*.h", "Tests/Fuzz/corpus/*",
           "Tests/Fuzz/CMakeLists.txt", "Sources/CSyncKernel/CMakeLists.txt", "Sources/CSyncKernel/cmake/*")
SWIFT_TESTS = ("Tests/SwiftSyncTests/*", "Tests/SwiftSyncLegacyTests/*", "Tests/MainThreadProgram/*",
               "Tests/TopLevelProgram/*", "scripts/test-swift")
EXPLORER = ("Tests/Explorer/*.[ch]", "Tests/Explorer/*.py", "Tests/Explorer/*.cpp",
            "scripts/explore")
MUTATION = ("Tests/Mutants/*",)


@dataclass(frozen=True)
class Step:
    """`commands` run one after the other, whatever becomes of those before; {clients} stands for those that the
    selection has found, and {changed} for what the Swift mutants are told of the change; for nothing where it is all. A
    step begins when those of `after` have ended.
    `fast`: what `--fast` runs instead; True: the same; None: it leaves the step out."""
    name: str
    commands: tuple
    about: str
    inputs: tuple = ()
    always: bool = False
    after: tuple = ()
    fast: object = None


STEPS = (
    Step("setup", ("scripts/setup test",),
         "what the steps need is there, or is installed",
         always=True, fast=True),
    Step("build", ("scripts/test-swift --build optimized",),
         "the library and its tests with `-O`, as users build it; a warning fails",
         always=True, after=("setup",), fast=("scripts/test-swift --build debug",)),
    Step("texts", ("python3 Tests/Mutants/check.py", "python3 Tests/Explorer/mutants.py --check",
          "python3 Tests/Explorer/orders.py --check", "python3 Tests/Explorer/loops.py --check",
          "python3 Tests/Fuzz/faults.py --check", "scripts/swift-mutants --check",
          "python3 Tests/Lifetimes/mutants.py --check", "python3 Tests/Steps/preconditions.py",
          "python3 Tests/Steps/selection_test.py", "python3 Tests/Steps/run_test.py",
          "python3 Tests/Layers/check.py --self-test", "python3 Tests/Layers/folders.py --self-test",
          "python3 Tests/Layers/sizes.py --self-test",
          "python3 Tests/Layers/fields.py --self-test"),
         "what each mutant and each planted fault replaces stands in its file; the kernel's layers, the lengths of "
         "files and functions, the fields of kernel structs that Swift touches; what a change selects, and "
         "how steps are run",
         always=True, after=("setup",), fast=True),
    Step("documents", ("python3 Tests/Documentation/documents.py", "python3 Tests/Documentation/selftest.py",
          "python3 Tests/Documentation/version.py", "python3 Tests/Documentation/plot.py --check",
          "python3 Tests/Report/check.py", "python3 Tests/Steps/tables.py --check"),
         "links lead somewhere, names in documents exist, versions and figures agree; the benchmark's report, made "
         "from kept rows: words, tables, and, where chromium is installed, its layout",
         always=True, after=("setup",), fast=True),
    Step("format", ("scripts/format --check",),
         "the layout of the sources",
         always=True, after=("setup",), fast=True),
    Step("Swift tests by ThreadSanitizer", ("scripts/test-swift races",),
         "the Swift tests once more: the library with `-O`, the tests without, so that they compile in a third of the "
         "time",
         inputs=LIBRARY + SWIFT_TESTS + ("Tests/tsan-suppressions.txt",),
         after=("setup",)),
    Step("costs", ("scripts/costs", "scripts/test-steps"),
         "instructions and allocations of some 140 operations, at the call sites that users have, against a record; "
         "the functions that the contention profile names; release builds hold nothing of the hook by which tests "
         "stop a thread",
         inputs=LIBRARY + ("Tests/Costs/*", "scripts/costs",
                 "scripts/test-steps") + ("Benchmarks/Sources/SwiftBench/CallSites/*",
                 "Benchmarks/Sources/CBenchSupport/*", "Sources/CSyncKernel/cmake/*",),
         after=("setup",)),
    Step("Swift tests", ("scripts/test-swift optimized --skip-build",),
         "each promise of the Swift API; linearizability by histories of real threads; code as users of the earlier "
         "libraries write it, in language mode 5",
         always=True, after=("build",), fast=("scripts/test-swift debug --skip-build",)),
    Step("C tests", ("scripts/test-c plain",),
         "each promise of the C API, faults (signals, stopped and killed processes, clocks, refused threads, forks), "
         "a short torture, once more with threads that are stopped at random; the inputs that fuzzing found worth "
         "keeping",
         always=True, after=("setup",), fast=("scripts/test-c --fast",)),
    Step("C tests by sanitizers", ("scripts/test-c sanitized",),
         "the same with AddressSanitizer and UBSan (clang's, whose allocator knows forks), and with ThreadSanitizer, "
         "in fewer rounds",
         inputs=KERNEL + C_TESTS + ("scripts/test-c",),
         after=("C tests",)),
    Step("C installed", ("scripts/test-c installed",),
         "the library in the form that tells of lock order; what is installed, its pages, and the examples built "
         "against it",
         inputs=KERNEL + C_TESTS + ("Sources/CSyncKernel/man/*", "Examples/c/*", "scripts/test-c", "scripts/install-c"),
         after=("C tests",)),
    Step("snippets", ("scripts/snippets",),
         "what users write, only compiled, in language modes 5 and 6: races that mode 6 must refuse, beside the same "
         "at Dispatch, a mutex of the standard library or an actor; each public function in closures, actors, tasks "
         "and top-level code; what must compile as written",
         inputs=INTERFACE + ("Tests/Snippets/*", "scripts/snippets") + ("Tests/Lifetimes/check.py", "Tests/tables.py",),
         after=("setup",), fast=("scripts/snippets refused written proposed",)),
    Step("where bodies run", ("python3 Tests/Isolation/check.py 50000",),
         "async bodies that name no actor, in each language mode and with the main actor by default: each runs on its "
         "caller's actor, and a counter of the actor's own loses nothing",
         inputs=INTERFACE + ("Tests/Isolation/*",),
         after=("samples",)),
    Step("what outlives a call", ("scripts/lifetimes",),
         "a probe for each public call that keeps a closure, a value, an element, a key or a task: it hands over a "
         "local object and returns, and the stack is overwritten; then contents and deinits are looked at",
         inputs=LIBRARY + ("Tests/Lifetimes/*", "scripts/lifetimes") + ("Tests/tables.py",),
         after=("faults of the system",)),
    Step("C without RCU and by musl", ("scripts/test-libc c",),
         "the kernel without liburcu, with glibc and with musl: the C tests that use read-copy-update; "
         "what it installs; the guide's commands for musl",
         inputs=KERNEL + C_TESTS + ("scripts/test-libc",) + ("Sources/SwiftSync/SwiftSync.docc/CGuide.md",
                 "Sources/CSyncKernel/man/*",),
         after=("C tests",)),
    Step("Swift built without RCU", ("scripts/test-libc swift-built",),
         "the library without its trait RCU: it compiles, and holds nothing of liburcu",
         inputs=LIBRARY + ("scripts/test-libc", "scripts/test-swift"),
         after=("setup",)),
    Step("Swift tests without RCU", ("scripts/test-libc swift",),
         "the library without its trait RCU: the Swift tests that use read-copy-update, and nothing of liburcu",
         inputs=HEADERS + SWIFT_TESTS + ("Package.swift", "scripts/test-libc", "Sources/SwiftSync/ReadWrite/*",
                 "Sources/SwiftSync/Core/*", "Sources/SwiftSync/NamedQueues/*", "Sources/SwiftSync/Diagnostics/*"),
         after=("Swift built without RCU",)),
    Step("arm64 emulated", ("scripts/test-arm64",),
         "the C tests, cross-compiled, under qemu-user, in fewer rounds: code and ABI, not memory orders; those of "
         "locks without membarrier; the kernel compiled for riscv64",
         inputs=KERNEL + C_TESTS + ("scripts/test-arm64",),
         after=("C tests",)),
    Step("faults of the system", ("scripts/test-faults",),
         "Swift programs whose n-th allocation fails, that get no thread, whose wall clock is stepped by an hour "
         "during each kind of wait, and whose closures trap",
         inputs=LIBRARY + ("Tests/FaultPrograms/*", "scripts/test-faults") + ("Tests/SwiftSyncTests/Support/*",),
         after=("costs",)),
    Step("samples", ("scripts/test-docs",),
         "every sample of the documentation compiled and run, those of three guides once more as a program's "
         "main.swift; the examples of the C headers, and their manual pages; the links of guides and doc comments, by "
         "docc",
         inputs=LIBRARY + ("README.md", "CONTRIBUTING.md", "Sources/CSyncKernel/man/*", "Tests/Documentation/*",
                 "scripts/test-docs", "scripts/draw-docs", "docs/*",
                 "Sources/SwiftSync/SwiftSync.docc/*") + ("Sources/CSyncKernel/CMakeLists.txt",
                 "Sources/CSyncKernel/cmake/*",),
         after=("what outlives a call",)),
    Step("fresh machine", ("scripts/test-fresh demo bench package c",),
         "what a newcomer runs, each in a bare Debian root with Swift's toolchain mounted in; needs root and apt, "
         "else `skipped`",
         inputs=("scripts/install-c", "scripts/demo", "scripts/bench", "scripts/test-fresh", "README.md",
                 "Package.swift", "Benchmarks/*", "Sources/CSyncKernel/CMakeLists.txt",
                 "Sources/CSyncKernel/cmake/*") + ("Examples/*", "Sources/SwiftSync/SwiftSync.docc/CGuide.md",
                 "Sources/SwiftSync/SwiftSync.docc/Deployment.md",),
         after=("setup",)),
    Step("models", ("Tests/Model/check",),
         "Promela models of the protocols, 19 that must pass and 36 variants that must fail",
         inputs=("Tests/Model/*", "Sources/CSyncKernel/src/lock/gate*", "Sources/CSyncKernel/src/lock/mutex*"),
         after=("setup",)),
    Step("schedules", ("scripts/explore {clients}",),
         "the kernel's own sources, schedule by schedule: each client exhaustively within its bound, and 2 500 random "
         "schedules. Of a change: the clients that enter a function that has changed",
         inputs=KERNEL + EXPLORER,
         after=("setup",)),
    Step("schedules by RC11", ("scripts/explore rc11 {clients}",),
         "the explorer's model of RC11 against 106 litmus tests, and against Relacy; then each client by it, data "
         "races of the kernel's plain accesses included",
         inputs=KERNEL + EXPLORER,
         after=("schedules",)),
    Step("what a change selects", ("python3 Tests/Steps/selection_test.py --mutants",),
         "each mutant of the kernel, planted as a change, and one in a file that a commit has changed, for each of 50 "
         "commits: what is selected must notice",
         inputs=KERNEL + EXPLORER + MUTATION + ("Tests/Explorer/mutants/*", "Tests/Explorer/mutants_caught.txt",
                 "Tests/SwiftMutants/*",),
         after=("schedules",)),
    Step("orders", ("scripts/explore orders",),
         "one memory order of the kernel at a time weakened by one step: the client that is known to notice must "
         "notice",
         inputs=KERNEL + EXPLORER + ("Tests/Explorer/order*",),
         after=("schedules by RC11",)),
    Step("mutants", ("scripts/explore mutants",),
         "one fence, look, wake, check or ordering at a time taken out of the kernel: a client must notice",
         inputs=KERNEL + EXPLORER + MUTATION + ("Tests/Explorer/mutants*",),
         after=("schedules",)),
    Step("loops", ("scripts/explore loops",),
         "what ends a loop in which a thread waits awake is taken away: a client must report that it does not "
         "terminate",
         inputs=KERNEL + EXPLORER + MUTATION + ("Tests/Explorer/loops*",),
         after=("mutants",)),
    Step("Swift mutants", ("scripts/swift-mutants --turn 10 {changed} --seconds 120",),
         "one promise of the Swift layer broken at a time: a test must notice; those of the files that have changed, "
         "and ten in turn",
         inputs=SWIFT + SWIFT_TESTS + MUTATION + ("Tests/SwiftMutants/*", "scripts/swift-mutants"),
         after=("setup",)),
    Step("packages", ("scripts/test-package", "Tests/Steps/traits"),
         "packages that depend on this one, in language modes 5 and 6; `Tests/Integrations`: the traits "
         "`ServiceLifecycle`, `Logging` and `Metrics` in a real service; a build without them has fetched nothing",
         inputs=INTERFACE + ("Tests/Integrations/*", "scripts/test-package"),
         after=("build",)),
    Step("KeyValueServer", ("swift test --package-path Examples/KeyValueServer",),
         "the example of a server, and its tests",
         inputs=LIBRARY + ("Examples/KeyValueServer/*",),
         after=("setup",)),
)
# What every step depends on.
EVERYTHING = ("Tests/Steps/*.py", "Tests/Steps/traits", "scripts/test", "scripts/setup", "scripts/find-clang",
              "scripts/build-release")
# What no step reads but those that always run: text, and what is run by hand or by the workflow.
READ_ALWAYS = ("*.md", "*.dot", "*.svg", "LICENSE", ".github/*", ".ci/*", ".git*", ".spi.yml", ".editorconfig",
               ".clang-format", ".swift-format", "*/.clang-format", "*/.gitignore", "Tests/Layers/*", "Tests/Report/*",
               "scripts/format", "scripts/fuzz", "scripts/build-musl", "scripts/soak",
               "Tests/Fuzz/faults*", "Tests/marks.py", "Tests/Steps/passed.txt")
