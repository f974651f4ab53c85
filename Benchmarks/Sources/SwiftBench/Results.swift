import Foundation

/// Values of one metric by group and subject, one a round; prints medians, and appends them to a file of tab-separated
/// rows.
final class Results {
    private let file: FileHandle?

    init(appendingTo path: String?) {
        if let path {
            if !FileManager.default.fileExists(atPath: path) {
                _ = FileManager.default.createFile(atPath: path, contents: nil)
            }
            file = FileHandle(forWritingAtPath: path)
            _ = try? file?.seekToEnd()
        } else {
            file = nil
        }
    }

    /// Prints a group; `baseline` names the subject that ratios are relative to. A row's value is the median of its
    /// rounds, or stands in `totals`. The file has what each round gave behind it.
    func print(
        _ group: String, _ metric: String, baseline: String, _ values: [(subject: String, rounds: [Double])],
        of totals: [Double]? = nil
    ) {
        Swift.print("\n\(group), \(metric)")
        let all = totals ?? values.map { median($0.rounds) }
        let base = values.firstIndex { $0.subject == baseline }.map { all[$0] }
        for ((subject, rounds), value) in zip(values, all) {
            let ratio = base.map { $0 > 0 ? String(format: "  (%.2fx)", value / $0) : "" } ?? ""
            Swift.print(
                "  " + subject.padding(toLength: 40, withPad: " ", startingAt: 0) + String(format: "%12.2f", value)
                    + ratio)
            let each = rounds.map { String(format: "%.6g", $0) }.joined(separator: " ")
            let row = "swift\t\(group)\t\(subject)\t\(metric)\t\(String(format: "%.4f", value))\t\(each)\n"
            _ = try? file?.seekToEnd()
            file?.write(Data(row.utf8))
        }
        fflush(nil)
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

func note(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
}
