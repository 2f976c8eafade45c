// Reads of one rank alone: what `read` returns, wherever the values lie, without the other ranks.
#include <hakobi/input.hpp>

#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const std::vector<TestField> fields = {{"eta", ValueType::float64, {23, 37}, even_blocks},
                                       {"u", ValueType::float32, {5, 23, 37}, uneven_rows},
                                       {"large", ValueType::int32, {301, 103}, backward_columns}};

class IndependentRead : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        prefix = folder + "/run";
    }
    void write(OutputOptions options, std::int64_t num_steps = 2) {
        options.axes = {{.name = "z", .values = {0, 1, 2, 3, 4}},
                        {.name = "y", .values = std::vector<double>(23, 1)},
                        {.name = "x", .values = std::vector<double>(37, 1)},
                        {.name = "row", .values = std::vector<double>(301, 1)},
                        {.name = "column", .values = std::vector<double>(103, 1)}};
        Output out = Output::create(comm, prefix, std::move(options));
        for (std::int64_t step = 0; step < num_steps; ++step) write_step(out, comm, step, fields);
        out.close();
        barrier();
    }
    /// This rank's values of a field, in blocks that nobody wrote.
    void expect_field(Input& in, std::int64_t step, std::size_t f, bool is_independent) {
        const Block block = even_blocks(fields[f].global, comm.size() + 1, comm.size() - comm.rank());
        const Values right(f, fields[f], step, block);
        std::vector<std::byte> found(right.bytes().size());
        visit(fields[f].type, [&]<class T>(T) {
            const FieldRead read{
                .name = fields[f].name,
                .step = step,
                .block = block,
                .data = std::span(reinterpret_cast<T*>(found.data()), found.size() / sizeof(T))};
            is_independent ? in.read_independent(read) : in.read(read);
        });
        EXPECT_TRUE(found == right.bytes()) << fields[f].name << " of step " << step;
    }
    /// Ranks read other fields of other steps, or nothing; then all together, and again.
    void expect_independent_reads() {
        Input in = Input::open(comm, prefix);
        const auto rank = static_cast<std::size_t>(comm.rank());
        for (const int round : {0, 1}) {
            for (std::size_t n = 0; n < rank + 1; ++n)
                expect_field(in, static_cast<std::int64_t>((rank + n) % 2), (rank + n) % fields.size(), true);
            for (std::size_t f = 0; f < fields.size(); ++f) expect_field(in, round, f, false);
        }
        if (is_rank_0()) expect_field(in, 1, 0, true);
        in.close();
        EXPECT_EQ(error_of([&] { expect_field(in, 1, 0, true); }).code(), ErrorCode::invalid_argument);
    }

    std::string prefix;
};

TEST_F(IndependentRead, FindsContiguousValues) {
    write({.method = "pipelined"});
    expect_independent_reads();
}
TEST_F(IndependentRead, FindsCompressedValues) {
    write({.compression = "deflate"});
    expect_independent_reads();
}
TEST_F(IndependentRead, FindsValuesInPieces) {
    write({.method = "per-process", .per_process = {.keep_pieces = true}});
    expect_independent_reads();
}
TEST_F(IndependentRead, FindsValuesInAFileOfSeveralSteps) {
    write({.steps_per_file = all_steps});
    expect_independent_reads();
}
TEST_F(IndependentRead, FindsValuesInAZarrGroup) {
    write({.format = "zarr", .compression = "zstd"});
    expect_independent_reads();
}

TEST_F(IndependentRead, IsAloneWithItsErrors) {
    write({});
    Input in = Input::open(comm, prefix);
    std::vector<double> values(23 * 37);
    const auto code_of = [&](FieldRead read) { return error_of([&] { in.read_independent(read); }).code(); };
    if (is_rank_0()) {
        EXPECT_EQ(code_of({.name = "no", .data = std::span(values)}), ErrorCode::not_found);
        EXPECT_EQ(code_of({.name = "eta", .step = 9, .data = std::span(values)}), ErrorCode::not_found);
        EXPECT_EQ(code_of({.name = "eta", .data = std::span(values).first(5)}), ErrorCode::invalid_argument);
        EXPECT_EQ(code_of({.name = "u", .data = std::span(values)}), ErrorCode::invalid_argument);
        const Error error = error_of([&] { in.read_independent({.name = "no", .data = std::span(values)}); });
        EXPECT_EQ(error.rank(), -1);
    }
    in.read({.name = "eta", .data = std::span(values)});
    EXPECT_EQ(values[100], static_cast<double>(value_at(0, 1, 100)));
    in.close();
}

TEST_F(IndependentRead, IsReadOfOneProcessToo) {
    write({});
    Input in = Input::open(prefix);
    for (std::size_t f = 0; f < fields.size(); ++f) expect_field(in, 1, f, true);
    in.close();
}

}  // namespace
}  // namespace hakobi::test
