import Testing

@testable import SwiftSync

struct TestStepTests {
    @Test func aPauseStopsTheThreadItIsMeantForAndNoOther() async {
        let pause = StepPause("TestStepTests: here")
        let stopped = Flag(), other = Flag()
        let thread = Thread {
            pause.within { testStep("TestStepTests: here") }
            stopped.raise()
        }
        await pause.isReached()
        let second = Thread {
            testStep("TestStepTests: here")
            other.raise()
        }
        second.join()
        #expect(other.isRaised)
        #expect(!stopped.isRaised)
        pause.goOn()
        thread.join()
        #expect(stopped.isRaised)
    }

    @Test func aPauseKnowsAnyThreadByTheObjectThatItComesFor() async {
        final class Subject: Sendable {}
        let subject = Subject(), stranger = Subject()
        let pause = StepPause("TestStepTests: object", subject: subject)
        testStep("TestStepTests: object", stranger)
        testStep("TestStepTests: object")
        let stopped = Flag()
        let thread = Thread {
            testStep("TestStepTests: object", subject)
            stopped.raise()
        }
        await pause.isReached()
        #expect(!stopped.isRaised)
        pause.goOn()
        thread.join()
    }

    @Test func aTaskOnItsOwnThreadsIsStoppedWhileOthersGoOn() async {
        let pause = StepPause("TestStepTests: task")
        let stopped = Flag()
        let task = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                testStep("TestStepTests: task")
                await Task.yield()
            }
            stopped.raise()
        }
        await pause.isReached()
        #expect(!stopped.isRaised)
        pause.goOn()
        await task.value
        #expect(stopped.isRaised)
    }
}
