// histogram.h: counts of nanosecond values in buckets of at most 1.6 % width, from 0 to 2^63.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

class Histogram {
public:
    Histogram() : counts(buckets) {}

    void record(int64_t value) {
        value = std::max<int64_t>(value, 0);
        counts[bucket(static_cast<uint64_t>(value))]++;
        total++;
        greatest = std::max(greatest, value);
    }

    void merge(const Histogram &other) {
        for (size_t index = 0; index < buckets; index++) counts[index] += other.counts[index];
        total += other.total;
        greatest = std::max(greatest, other.greatest);
    }

    // The value that `share` (0 to 1) of all records don't exceed: the upper end of its bucket.
    int64_t percentile(double share) const {
        const auto wanted = static_cast<uint64_t>(share * static_cast<double>(total) + 0.5);
        uint64_t seen = 0;
        for (size_t index = 0; index < buckets; index++) {
            seen += counts[index];
            if (seen >= wanted && seen > 0) return std::min(upper_end(index), greatest);
        }
        return greatest;
    }

    int64_t max() const { return greatest; }
    uint64_t count() const { return total; }

private:
    // Values below 64 have a bucket each; above, each power of two is divided into 64.
    static constexpr unsigned bits = 6;
    static constexpr size_t buckets = (64 - bits + 1) << bits;

    static size_t bucket(uint64_t value) {
        if (value < (1u << bits)) return value;
        const unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(value)) - bits;
        return ((shift + 1ull) << bits) + (value >> shift) - (1u << bits);
    }

    static int64_t upper_end(size_t index) {
        if (index < (1u << bits)) return static_cast<int64_t>(index);
        const unsigned shift = static_cast<unsigned>(index >> bits) - 1;
        const uint64_t start = ((index & ((1u << bits) - 1)) + (1ull << bits)) << shift;
        return static_cast<int64_t>(start + (1ull << shift) - 1);
    }

    std::vector<uint64_t> counts;
    uint64_t total = 0;
    int64_t greatest = 0;
};
