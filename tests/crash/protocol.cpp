#include "protocol.hpp"

#include <unistd.h>

#include <cstring>

#include "recorder.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::test {
namespace {

const std::vector<TestField> grid_fields = {{"eta", format::ValueType::float64, {5, 3}, even_blocks},
                                            {"u", format::ValueType::float32, {2, 5, 3}, backward_columns}};

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string read_grid(Input& in, std::int64_t step, int num_ranks) {
    if (in.fields(step).size() != grid_fields.size()) return "it has other fields; ";
    std::string wrong;
    for (std::size_t f = 0; f < grid_fields.size(); ++f) {
        const TestField& field = grid_fields[f];
        const std::vector<std::byte> right = reference_array(f, field, step, num_ranks);
        visit(field.type, [&]<class T>(T) {
            std::vector<T> found(right.size() / sizeof(T));
            in.read({.name = field.name, .step = step, .data = std::span(found)});
            if (!is_equal(std::as_bytes(std::span(found)), right))
                wrong += field.name + " has wrong values; ";
        });
    }
    return wrong;
}

std::string read_mesh(Input& in, const Protocol& protocol, std::int64_t step, int num_ranks) {
    std::string wrong;
    std::vector<double> points;
    const std::int64_t mesh_step = protocol.motion == Motion::fixed ? 0 : step;
    for (int rank = 0; rank < num_ranks; ++rank) {
        const RankMesh part(rank, num_ranks, mesh_step);
        points.insert(points.end(), part.points.begin(), part.points.end());
    }
    if (in.read_mesh(step).points != points) wrong += "the mesh has wrong points; ";
    for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
        std::vector<std::byte> right;
        for (int rank = 0; rank < num_ranks; ++rank) {
            const Values values =
                values_on_mesh(f, mesh_fields[f], step, RankMesh(rank, num_ranks, mesh_step));
            right.insert(right.end(), values.bytes().begin(), values.bytes().end());
        }
        visit(mesh_fields[f].type, [&]<class T>(T) {
            std::vector<T> found(right.size() / sizeof(T));
            in.read({.name = mesh_fields[f].name, .step = step, .data = std::span(found)});
            if (!is_equal(std::as_bytes(std::span(found)), right))
                wrong += mesh_fields[f].name + " has wrong values; ";
        });
    }
    return wrong;
}

}  // namespace

std::string prefix_in(const std::string& root) {
    return root + "/place/run";
}

OutputOptions Protocol::options(const std::string& root) const {
    OutputOptions options;
    options.format = format;
    options.method = method;
    options.asynchronous = is_hidden;
    options.steps_per_file = steps_per_file;
    options.sync = is_synced;
    if (has_stage) options.hints = {{"hakobi_stage", root + "/stage"}, {"hakobi_stage_patience", "2"}};
    return options;
}

OutputOptions Protocol::next_options(IfExists if_exists) const {
    OutputOptions options;
    options.format = format;
    options.method = "root";  // which has no threads
    options.asynchronous = false;
    options.steps_per_file = steps_per_file;
    options.sync = is_synced;
    options.if_exists = if_exists;
    return options;
}

void Protocol::put_step(Output& out, const Comm& comm, std::int64_t step) const {
    if (!has_mesh()) return write_step(out, comm, step, grid_fields);
    const RankMesh mine(comm.rank(), comm.size(), motion == Motion::fixed ? 0 : step);
    std::vector<Values> kept;
    out.begin_step(0.25 * static_cast<double>(step));
    out.put_mesh(mine.mesh(motion));
    put_mesh_fields(out, mine, step, kept);
    out.end_step();
}

void Protocol::run(const Comm& comm, const std::string& root) const {
    Output out = Output::create(comm, prefix_in(root), options(root));
    for (std::int64_t step = 0; step < num_steps; ++step) {
        if (has_mesh() && step > 0) {
            const RankMesh mine(comm.rank(), comm.size(), motion == Motion::fixed ? 0 : step);
            std::vector<Values> kept;
            out.begin_step(0.25 * static_cast<double>(step));
            if (motion == Motion::moves) out.put_points(std::span<const double>(mine.points));
            put_mesh_fields(out, mine, step, kept);
            out.end_step();
        } else {
            put_step(out, comm, step);
        }
        note(Kind::ended, step);
    }
    out.close();
    note(Kind::closed);
}

Look look_at(const Protocol& protocol, const std::string& root, int num_ranks, std::int64_t first_alone) {
    Look look;
    // Whoever reads while a run holds the lock completes nothing.
    const auto lock = storage::LockFile::take(prefix_in(root) + ".lock", "the steps");
    if (!lock.ok()) return {.steps = {}, .wrong = lock.status().text()};
    const Error error = error_of([&] {
        Input in = Input::open(prefix_in(root));
        for (std::size_t i = 0; i < in.steps().size(); ++i) {
            const std::int64_t step = in.steps()[i];
            const int ranks = step < first_alone ? num_ranks : 1;
            std::string wrong =
                protocol.has_mesh() ? read_mesh(in, protocol, step, ranks) : read_grid(in, step, ranks);
            if (in.times()[i] != 0.25 * static_cast<double>(step)) wrong += "it has another time; ";
            if (wrong.empty()) look.steps.insert(step);
            if (!wrong.empty()) look.wrong += "step " + std::to_string(step) + ": " + wrong;
        }
    });
    const bool is_left = protocol.is_shown_gathered() && error.code() == ErrorCode::unsupported;
    if (error.code() != ErrorCode::ok && error.code() != ErrorCode::not_found && !is_left)
        look.wrong += error.what();
    return look;
}

const std::vector<Opener>& all_openers() {
    static const std::vector<Opener> openers = {
        {.name = "Input::open", .leaves_parts = true}, {.name = "resume"},
        {.name = "resume and go on", .goes_on = true}, {.name = "gather"},
        {.name = "replace", .replaces = true},
    };
    return openers;
}

Opened open_by(const Opener& opener, const Protocol& protocol, const std::string& root, const Comm& alone) {
    const std::string prefix = prefix_in(root);
    Opened opened;
    if (opener.name == "Input::open") {
        Input in = Input::open(prefix);
        in.close();
        return opened;
    }
    if (opener.name == "gather") {
        for (const std::string& each : gather_pieces(prefix).incomplete) opened.words += each + "\n";
        return opened;
    }
    Output out = Output::create(
        alone, prefix, protocol.next_options(opener.replaces ? IfExists::replace : IfExists::resume));
    if (opener.goes_on) {
        opened.next_step = 0;
        (void)error_of([&] { opened.next_step = Input::open(prefix).steps().back() + 1; });
        protocol.put_step(out, alone, opened.next_step);
    }
    out.close();
    return opened;
}

}  // namespace hakobi::test
