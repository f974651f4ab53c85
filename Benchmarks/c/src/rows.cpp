#include "rows.h"

#include <algorithm>
#include <cstdio>

Row summarize(std::string group, std::string column, std::string subject, std::string unit, std::vector<double> rounds) {
    std::sort(rounds.begin(), rounds.end());
    const size_t count = rounds.size();
    const double median = count % 2 ? rounds[count / 2] : (rounds[count / 2 - 1] + rounds[count / 2]) / 2;
    return {group, column, subject, median, unit, rounds.front(), rounds.back(), static_cast<unsigned>(count)};
}

bool write_rows(const std::string &path, const std::vector<Row> &rows) {
    std::FILE *file = std::fopen(path.c_str(), "w");
    if (!file) return false;
    for (const Row &row : rows) {
        std::fprintf(file, "c\t%s\t%s\t%s\t%.6g\t%s\t%.6g\t%.6g\t%u\n", row.group.c_str(), row.column.c_str(),
                     row.subject.c_str(), row.value, row.unit.c_str(), row.low, row.high, row.rounds);
    }
    return std::fclose(file) == 0;
}

namespace {

template <class Key>
std::vector<std::string> distinct(const std::vector<Row> &rows, Key key) {
    std::vector<std::string> found;
    for (const Row &row : rows) {
        if (std::find(found.begin(), found.end(), key(row)) == found.end()) found.push_back(key(row));
    }
    return found;
}

const Row *find(const std::vector<Row> &rows, const std::string &subject, const std::string &column) {
    for (const Row &row : rows) {
        if (row.subject == subject && row.column == column) return &row;
    }
    return nullptr;
}

std::string cell(const Row *row, const Row *reference) {
    if (!row) return "-";
    char text[64];
    if (!reference || reference == row || reference->value == 0) {
        std::snprintf(text, sizeof text, "%.4g        ", row->value);
    } else {
        std::snprintf(text, sizeof text, "%.4g %6.2fx", row->value, row->value / reference->value);
    }
    return text;
}

}  // namespace

void print_tables(const std::vector<Row> &rows, const std::string &reference) {
    for (const std::string &group : distinct(rows, [](const Row &row) { return row.group; })) {
        std::vector<Row> table;
        for (const Row &row : rows) {
            if (row.group == group) table.push_back(row);
        }
        const auto columns = distinct(table, [](const Row &row) { return row.column; });
        std::printf("\n%s (%s; x: of %s)\n%-18s", group.c_str(), table.front().unit.c_str(), reference.c_str(), "");
        for (const std::string &column : columns) std::printf("%19s", column.c_str());
        for (const std::string &subject : distinct(table, [](const Row &row) { return row.subject; })) {
            std::printf("\n%-18s", subject.c_str());
            for (const std::string &column : columns) {
                std::printf("%19s", cell(find(table, subject, column), find(table, reference, column)).c_str());
            }
        }
        std::printf("\n");
    }
}
