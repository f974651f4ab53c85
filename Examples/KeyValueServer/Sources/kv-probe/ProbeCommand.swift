import ArgumentParser

@main
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv-probe",
        abstract: "Measures how long clients of a server wait, counted from the intended time of each request.",
        subcommands: [Latency.self, Calibrate.self, Saturate.self], defaultSubcommand: Latency.self)
}
