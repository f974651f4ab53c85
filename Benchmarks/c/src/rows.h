// rows.h: results, as tab-separated lines for programs and as tables for people.
#pragma once

#include <string>
#include <vector>

struct Row {
    std::string group;    // "throughput"
    std::string column;   // "8": what distinguishes the group's columns
    std::string subject;
    double value;         // the median of the rounds, or a percentile of all of them together
    std::string unit;
    double low, high;     // least and greatest round
    unsigned rounds;
};

// The median, with the least and greatest.
Row summarize(std::string group, std::string column, std::string subject, std::string unit, std::vector<double> rounds);

// One line per row: part, group, column, subject, value, unit, low, high, rounds. False when the file can't be written.
bool write_rows(const std::string &path, const std::vector<Row> &rows);

// A table per group: a line per subject, and behind each value its ratio to `reference`'s.
void print_tables(const std::vector<Row> &rows, const std::string &reference);
