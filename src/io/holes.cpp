#include "io/holes.hpp"

namespace hakobi::io {
namespace {

/// Runs that are written together if that is cheaper.
struct Group {
    std::int64_t begin = 0, end = 0;  // in the buffer
    std::int64_t num_runs = 0, data_bytes = 0;

    void add(const ByteMarks::Run& run) {
        if (num_runs++ == 0) begin = run.from;
        end = run.from + run.length;
        data_bytes += run.length;
    }
    [[nodiscard]] bool is_cheaper_whole(const HoleCosts& costs) const {
        if (num_runs < 2) return false;
        const auto span = static_cast<double>(end - begin);
        const double whole = costs.read.of(1, span) + costs.write.of(1, span);
        return whole < costs.write.of(static_cast<double>(num_runs), static_cast<double>(data_bytes));
    }
};

/// Whether a run joins a group that ends at `end`, whose own read and write are paid for anyway.
bool joins(std::int64_t end, const ByteMarks::Run& run, const HoleCosts& costs) {
    const auto hole = static_cast<double>(run.from - end);
    const auto read = hole + static_cast<double>(run.length);
    return costs.read.of(0, read) + costs.write.of(0, hole) < costs.write.of(1, 0);
}

void append(const ByteMarks& marks, std::int64_t from, std::int64_t to, std::int64_t file_begin_bytes,
            std::vector<storage::Extent>& extents) {
    for (ByteMarks::Run run = marks.next_run(from); run.length > 0 && run.from < to;
         run = marks.next_run(run.from + run.length)) {
        extents.push_back({run.from, file_begin_bytes + run.from, run.length});
    }
}

}  // namespace

std::vector<storage::Extent> extents_of(const ByteMarks& marks, std::int64_t file_begin_bytes,
                                        const HoleCosts& costs) {
    std::vector<storage::Extent> extents;
    if (!costs.may_fill) {
        append(marks, 0, marks.num_bytes(), file_begin_bytes, extents);
        return extents;
    }
    const auto write = [&](const Group& group) {
        if (group.is_cheaper_whole(costs)) {
            extents.push_back({group.begin, file_begin_bytes + group.begin, group.end - group.begin, true});
        } else {
            append(marks, group.begin, group.end, file_begin_bytes, extents);
        }
    };
    Group group;
    for (ByteMarks::Run run = marks.next_run(0); run.length > 0;
         run = marks.next_run(run.from + run.length)) {
        if (group.num_runs > 0 && !joins(group.end, run, costs)) {
            write(group);
            group = {};
        }
        group.add(run);
    }
    if (group.num_runs > 0) write(group);
    return extents;
}

void MarkedHoles::fill(const storage::Extent& extent, const std::byte* old) {
    marks_.fill_unmarked(buffer_, extent.buffer_bytes, extent.length_bytes, old);
}

void MarkedHoles::append_runs(const storage::Extent& extent, std::vector<storage::Extent>& runs) const {
    append(marks_, extent.buffer_bytes, extent.buffer_bytes + extent.length_bytes,
           extent.file_bytes - extent.buffer_bytes, runs);
}

}  // namespace hakobi::io
