// Fields that are defined once: the same files as by describing them with each step, and errors at define, on
// all ranks alike.
#include "mesh_fixture.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

/// An Output that puts fields as they are, or defines each before its first step.
class Writer {
  public:
    enum class How { described, defined, defined_without_extents };

    Writer(const Comm& comm, const std::string& prefix, OutputOptions options, How how)
        : out(Output::create(comm, prefix, std::move(options))), how_(how) {}

    void put(const Field& field) {
        if (how_ == How::described) return out.put(field);
        const MemoryLayout layout{field.ghosts, field.strides, field.memory, field.stream};
        auto found = ids_.find(field.name);
        if (found == ids_.end()) found = ids_.emplace(field.name, out.define(definition_of(field))).first;
        const bool is_nothing = std::visit([](auto values) { return values.empty(); }, field.data);
        if (is_nothing && how_ == How::defined)
            out.put(found->second, {}, {}, layout);
        else
            out.put(found->second, field.block, field.data, layout);
    }

    Output out;

  private:
    [[nodiscard]] FieldDefinition definition_of(const Field& field) const {
        FieldDefinition definition{.name = field.name,
                                   .units = field.units,
                                   .long_name = field.long_name,
                                   .standard_name = field.standard_name,
                                   .type = static_cast<ValueType>(field.data.index()),
                                   .dims = field.dims,
                                   .compression = field.compression,
                                   .significant_bits = field.significant_bits,
                                   .attributes = field.attributes,
                                   .fill_value = field.fill_value,
                                   .coordinates = field.coordinates,
                                   .is_static = field.is_static,
                                   .on = field.on,
                                   .components = field.components};
        if (how_ == How::defined) definition.global = field.block.global;
        return definition;
    }

    How how_;
    std::map<std::string, FieldId> ids_;
};

class Defined : public RanksTest, public ::testing::WithParamInterface<Way> {
  protected:
    /// Runs `steps` in each way, and compares the files.
    template <class Steps>
    void expect_the_same(OutputOptions options, Steps steps) {
        options.method = GetParam().method;
        options.format = GetParam().format;
        const auto write = [&](const char* name, Writer::How how) {
            Writer writer(comm, folder + "/" + name + "/run", options, how);
            steps(writer);
            writer.out.close();
        };
        write("described", Writer::How::described);
        write("defined", Writer::How::defined);
        write("without", Writer::How::defined_without_extents);
        barrier();
        if (is_rank_0()) {
            const auto right = files_in(folder + "/described");
            EXPECT_FALSE(right.empty());
            EXPECT_TRUE(files_in(folder + "/defined") == right);
            EXPECT_TRUE(files_in(folder + "/without") == right);
            fs::remove_all(folder);
        }
        barrier();
    }
};
using DefinedOnMesh = Defined;

const std::vector<TestField> defined_fields = {{"lat", ValueType::float64, {23, 37}, even_blocks},
                                               {"eta", ValueType::float64, {23, 37}, uneven_rows},
                                               {"u", ValueType::float32, {5, 23, 37}, backward_columns},
                                               {"mask", ValueType::int8, {23, 37}, inner_blocks},
                                               {"large", ValueType::int32, {101, 203}, even_blocks}};

TEST_P(Defined, FieldsGiveTheFilesThatDescribedOnesGive) {
    const bool holds_chunks = format::find_format(GetParam().format).value()->holds_chunks();
    const auto steps = [&](Writer& writer) {
        for (std::int64_t step = 0; step < 3; ++step) {
            std::vector<Values> values;
            for (std::size_t f = 0; f < defined_fields.size(); ++f)
                values.emplace_back(
                    f, defined_fields[f], step,
                    defined_fields[f].block_of(defined_fields[f].global, comm.size(), comm.rank()));
            const auto field = [&](std::size_t f) {
                const std::vector<std::string> dims[] = {
                    {"y", "x"}, {"y", "x"}, {"z", "y", "x"}, {"y", "x"}, {"row", "column"}};
                return Field{.name = defined_fields[f].name,
                             .units = "m",
                             .dims = dims[f],
                             .block = values[f].block(),
                             .data = values[f].data()};
            };
            writer.out.begin_step(static_cast<double>(step));
            if (step == 0) {
                Field lat = field(0);
                lat.is_static = true;
                writer.put(lat);
            }
            Field eta = field(1);
            eta.long_name = "height";
            eta.standard_name = "sea_surface_height";
            eta.attributes = {{"valid_range", {-1.0, 1.0}}};
            eta.fill_value = -9999.0;
            eta.coordinates = {"lat"};
            writer.put(eta);
            // Its slices are blocks, with ghosts around each.
            const Field u = field(2);
            const std::int64_t rows = u.block.count[1], columns = u.block.count[2];
            std::vector<std::vector<float>> slices;
            for (std::int64_t k = 0; k < 5; ++k) {
                Field slice = u;
                slice.block.start[0] = k;
                slice.block.count[0] = 1;
                std::vector<float>& with_ghosts = slices.emplace_back(
                    static_cast<std::size_t>(slice.block.num_elements() == 0 ? 0 : (rows + 2) * columns));
                const auto plain = std::get<std::span<const float>>(u.data);
                if (!with_ghosts.empty())
                    std::copy_n(plain.begin() + k * rows * columns, rows * columns,
                                with_ghosts.begin() + columns);
                slice.data = std::span<const float>(with_ghosts);
                slice.ghosts = {0, 1, 0};
                writer.put(slice);
            }
            writer.put(field(3));
            Field large = field(4);
            if (holds_chunks) large.compression = "deflate:2";
            writer.put(large);
            const std::int64_t number = 7 * step + comm.rank();
            writer.put({.name = "number", .block = {}, .data = std::span(&number, 1)});
            writer.out.end_step();
        }
    };
    expect_the_same({}, steps);
    const bool holds_steps = format::find_format(GetParam().format).value()->growing() != nullptr;
    if (holds_steps && GetParam().method != "per-process") expect_the_same({.steps_per_file = 2}, steps);
}

TEST_P(Defined, FieldsGoOnWhereAnEarlierRunEnded) {
    using How = Writer::How;
    OutputOptions options{.method = GetParam().method, .format = GetParam().format};
    const auto write = [&](const std::string& name, const std::vector<How>& runs) {
        options.if_exists = IfExists::fail;
        for (std::size_t step = 0; step < runs.size(); ++step) {
            Writer writer(comm, folder + "/" + name + "/run", options, runs[step]);
            options.if_exists = IfExists::resume;
            std::vector<Values> values;
            writer.out.begin_step(static_cast<double>(step));
            for (const std::size_t f : {1U, 4U}) {
                const TestField& field = defined_fields[f];
                values.emplace_back(f, field, static_cast<std::int64_t>(step),
                                    field.block_of(field.global, comm.size(), comm.rank()));
                writer.put({.name = field.name,
                            .units = "m",
                            .dims = {f == 1 ? "y" : "row", f == 1 ? "x" : "column"},
                            .block = values.back().block(),
                            .data = values.back().data()});
            }
            writer.out.end_step();
            writer.out.close();
        }
        barrier();
    };
    const auto expect_the_same_after = [&](std::int64_t steps_per_file) {
        options.steps_per_file = steps_per_file;
        write("described", {How::described, How::described, How::described});
        write("later", {How::described, How::defined, How::described});
        write("earlier", {How::defined, How::defined_without_extents, How::defined});
        if (is_rank_0()) {
            const auto right = files_in(folder + "/described");
            EXPECT_FALSE(right.empty());
            EXPECT_TRUE(files_in(folder + "/later") == right);
            EXPECT_TRUE(files_in(folder + "/earlier") == right);
            fs::remove_all(folder);
        }
        barrier();
    };
    expect_the_same_after(1);
    const bool holds_steps = format::find_format(GetParam().format).value()->growing() != nullptr;
    if (holds_steps && GetParam().method != "per-process") expect_the_same_after(all_steps);
}
INSTANTIATE_TEST_SUITE_P(Output, Defined, ::testing::ValuesIn(every_way()), name_of_way);

TEST_P(DefinedOnMesh, FieldsGiveTheFilesThatDescribedOnesGive) {
    expect_the_same({}, [&](Writer& writer) {
        for (std::int64_t step = 0; step < 2; ++step) {
            const RankMesh mine(comm.rank(), comm.size(), 0);
            std::vector<Values> kept;
            kept.reserve(mesh_fields.size());
            writer.out.begin_step(static_cast<double>(step));
            if (step == 0) writer.out.put_mesh(mine.mesh(Motion::fixed));
            for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
                const MeshField& field = mesh_fields[f];
                kept.push_back(values_on_mesh(f, field, step, mine));
                writer.put({.name = field.name,
                            .data = kept.back().data(),
                            .on = field.on,
                            .components = field.components});
            }
            writer.out.end_step();
        }
    });
}
std::vector<Way> mesh_ways() {
    std::vector<Way> ways = all_ways();
    std::erase_if(ways,
                  [](const Way& way) { return !format::find_format(way.format).value()->holds_meshes(); });
    return ways;
}
INSTANTIATE_TEST_SUITE_P(Output, DefinedOnMesh, ::testing::ValuesIn(mesh_ways()), name_of_way);

/// An output with two axes; what define refuses leaves it as it was.
class Definition : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        out = create("run");
    }
    std::unique_ptr<Output> create(const std::string& name, OutputOptions options = {}) const {
        options.axes = {{.name = "y", .values = {0, 1, 2}}, {.name = "x", .values = {0, 1, 2, 3}}};
        return std::make_unique<Output>(Output::create(comm, folder + "/" + name, std::move(options)));
    }

    /// On one rank `definition` is `change`d: all have that error.
    template <class Change>
    void expect_refused(Change change, ErrorCode code, const std::string& text) {
        for (const int changed : {0, comm.size() - 1}) {
            FieldDefinition definition{.name = "eta", .global = {3, 4}};
            if (comm.rank() == changed) change(definition);
            const Error error = error_of([&] { static_cast<void>(out->define(definition)); });
            EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
            EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        }
    }
    /// The output still writes a step.
    void expect_usable() {
        const FieldId eta = out->define({.name = "eta", .global = {3, 4}});
        const Block block = split({3, 4}, comm.size(), comm.rank());
        const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1);
        out->begin_step(0);
        out->put(eta, block, values);
        out->end_step();
        out->close();
    }
    /// The end of the step in which one rank put what it should not is this error on all.
    template <class Put>
    void expect_step_refused(Put put, const std::string& text) {
        out->begin_step(0);
        if (comm.rank() == comm.size() - 1) put();
        const Error error = error_of([&] { out->end_step(); });
        EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::invalid_argument)) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        EXPECT_EQ(error_of([&] { static_cast<void>(out->define({.name = "late"})); }).code(),
                  ErrorCode::failed);
        out->close();
    }

    std::unique_ptr<Output> out;
};

TEST_F(Definition, ThatOneRankCannotHaveIsAnErrorOnAll) {
    constexpr ErrorCode invalid = ErrorCode::invalid_argument;
    using Changed = FieldDefinition;
    expect_refused([](Changed& it) { it.name = "a b"; }, invalid, "field 'a b': a name is at most");
    expect_refused([](Changed& it) { it.name = "x"; }, invalid, "field x: the name is taken");
    expect_refused([](Changed& it) { it.compression = "zstt"; }, invalid, "field eta: unknown compression");
    expect_refused([](Changed& it) { it.significant_bits = 5; }, invalid, "field eta: ");
    expect_refused([](Changed& it) { it.global = {3, 5}; }, invalid, "no axis for its extent 5");
    expect_refused([](Changed& it) { it.global = {3, 0}; }, invalid, "cannot be stored");
    expect_refused([](Changed& it) { it.dims = {"x"}; }, invalid, "names 1 dimensions and has 2");
    expect_refused([](Changed& it) { it.fill_value = 1; }, invalid, "its fill value is int, its values are");
    expect_refused([](Changed& it) { it.attributes = {{"units", "m"}}; }, invalid, "field eta: ");
    expect_refused([](Changed& it) { it.coordinates = {"eta"}; }, invalid, "its coordinates name itself");
    expect_refused([](Changed& it) { it.type = static_cast<ValueType>(10); }, invalid, "its type is 10");
    expect_refused([](Changed& it) { it.on = static_cast<On>(3); }, invalid, "neither on a grid");
    expect_refused([](Changed& it) { it.on = On::cells; }, ErrorCode::unsupported, "hold no meshes");
    expect_usable();
}

TEST_F(Definition, ThatDiffersBetweenRanksIsAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    constexpr ErrorCode invalid = ErrorCode::invalid_argument;
    expect_refused([](auto& it) { it.name = "etta"; }, invalid, "is called");
    expect_refused([](auto& it) { it.type = ValueType::float32; }, invalid, "eta is ");
    expect_refused([](auto& it) { it.global = {}; }, invalid, "has a global array of");
    expect_refused([](auto& it) { it.units = "m"; }, invalid, "has other units");
    expect_refused([](auto& it) { it.dims = {"y", "x"}; }, invalid, "names other dimensions");
    expect_usable();
}

TEST_F(Definition, OfTheSameNameIsRefused) {
    static_cast<void>(out->define({.name = "u"}));
    const Error error = error_of([&] { static_cast<void>(out->define({.name = "u"})); });
    EXPECT_STREQ(error.what(), error_of([] {
                                   throw Error(ErrorCode::invalid_argument, "field u: it is defined already",
                                               0);
                               }).what());
    expect_usable();
}

TEST_F(Definition, FollowsTheFormat) {
    const auto meshes = create("mesh", {});
    Output mesh = Output::create(comm, folder + "/surface", {.format = "vtkhdf"});
    const auto text = [&](const FieldDefinition& definition) {
        const Error error = error_of([&] { static_cast<void>(mesh.define(definition)); });
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        return std::string(error.what());
    };
    EXPECT_NE(text({.name = "p", .global = {4}}).find("hold fields on a mesh"), std::string::npos);
    EXPECT_NE(text({.name = "p", .on = On::cells, .components = 0}).find("it has 0 components"),
              std::string::npos);
    EXPECT_NE(text({.name = "p", .global = {4}, .on = On::cells}).find("it is on a mesh"), std::string::npos);
    EXPECT_NE(text({.name = "p", .compression = "zstd"}).find("hold no compressed fields"),
              std::string::npos);
    static_cast<void>(mesh.define({.name = "p", .on = On::cells}));
    mesh.close();
    meshes->close();
    expect_usable();
}

TEST_F(Definition, OfAnotherOutputIsNoFieldOfThisOne) {
    const auto other = create("other");
    const FieldId theirs = other->define({.name = "eta"});
    const double value = 1;
    expect_step_refused([&] { out->put(theirs, {}, std::span(&value, 1)); },
                        "none that this output's define");
    other->close();
    EXPECT_EQ(error_of([&] { other->put(theirs, {}, std::span(&value, 1)); }).code(),
              ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { static_cast<void>(other->define({.name = "u"})); }).code(),
              ErrorCode::invalid_argument);
}

TEST_F(Definition, IsNeededForAField) {
    const double value = 1;
    expect_step_refused([&] { out->put(FieldId{}, {}, std::span(&value, 1)); },
                        "none that this output's define");
}

TEST_F(Definition, DecidesTheType) {
    const FieldId eta = out->define({.name = "eta"});
    const float value = 1;
    expect_step_refused([&] { out->put(eta, {}, std::span(&value, 1)); },
                        "field eta: its values are float, and it is defined as double");
}

TEST_F(Definition, DecidesTheExtents) {
    const FieldId eta = out->define({.name = "eta", .global = {3, 4}});
    const std::vector<double> values(12);
    expect_step_refused(
        [&] {
            out->put(eta, split({4, 3}, 1, 0), values);
        },
        "field eta: its block is of an array of 4 x 3, and it is defined with 3 x 4");
}

TEST_F(Definition, WithoutExtentsTakesThoseOfEachStep) {
    out->close();
    out = std::make_unique<Output>(Output::create(comm, folder + "/particles"));
    const FieldId id = out->define({.name = "mass", .type = ValueType::float32, .dims = {"particle"}});
    for (std::int64_t step = 0; step < 2; ++step) {
        const Block block = split({10 + step}, comm.size(), comm.rank());
        const std::vector<float> values(static_cast<std::size_t>(block.num_elements()), 2);
        out->begin_step(static_cast<double>(step));
        out->put(id, block, values);
        out->end_step();
    }
    out->close();
    Input in = Input::open(comm, folder + "/particles");
    for (const std::int64_t step : {0, 1}) {
        EXPECT_EQ(in.field("mass", step).shape, std::vector{10 + step});
        EXPECT_EQ(in.field("mass", step).dims, std::vector<std::string>{"particle"});
    }
    in.close();
}

TEST_F(Definition, IsHeldToTheStepsThatItGoesOnAfter) {
    expect_usable();  // with a step that says 1 for its units
    const auto resume = [&](const FieldDefinition& definition) {
        Output next = Output::create(
            comm, folder + "/run",
            {.axes = {{.name = "y", .values = {0, 1, 2}}, {.name = "x", .values = {0, 1, 2, 3}}},
             .if_exists = IfExists::resume});
        const FieldId id = next.define(definition);
        const Block block = split({3, 4}, comm.size(), comm.rank());
        const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1);
        next.begin_step(1);
        next.put(id, block, values);
        Error error = error_of([&] { next.end_step(); });
        next.close();
        return error;
    };
    const Error units = resume({.name = "eta", .units = "m", .global = {3, 4}});
    EXPECT_EQ(to_string(units.code()), to_string(ErrorCode::invalid_argument)) << units.what();
    EXPECT_NE(std::string(units.what()).find("field eta is in 'm', not in '1'"), std::string::npos)
        << units.what();
    EXPECT_TRUE(is_same_everywhere(comm, units)) << units.what();
    const Error name = resume({.name = "zeta", .global = {3, 4}});
    EXPECT_NE(std::string(name.what()).find("there is no field zeta in it"), std::string::npos)
        << name.what();
    EXPECT_EQ(resume({.name = "eta", .global = {3, 4}}).code(), ErrorCode::ok);
}

TEST_F(Definition, IsGoodWithinAStepAndBetweenHiddenOnes) {
    out->begin_step(0);
    const Block block = split({3, 4}, comm.size(), comm.rank());
    const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1);
    const FieldId first = out->define({.name = "first", .global = {3, 4}});
    out->put(first, block, values);
    out->end_step();
    const FieldId second = out->define({.name = "second", .global = {3, 4}});
    out->begin_step(1);
    out->put(second, block, values);
    out->put(first, block, values);
    out->end_step();
    out->close();
    Input in = Input::open(comm, folder + "/run");
    EXPECT_EQ(in.fields(0).size(), 1U);
    EXPECT_EQ(in.fields(1).size(), 2U);
    in.close();
}

}  // namespace
}  // namespace hakobi::test
