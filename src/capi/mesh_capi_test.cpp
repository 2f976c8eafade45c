// Meshes through the C interface: what one rank cannot put, and reading back, with NULL and without a mesh.
#include "capi_fixture.hpp"

namespace {

class CApiMesh : public hakobi::test::CApiTest {
  protected:
    hakobi_output* create(const char* format) const {
        auto options = HAKOBI_INIT(hakobi_output_options);
        options.format = format;
        options.method = "root";
        options.if_exists = HAKOBI_IF_EXISTS_REPLACE;
        hakobi_output* out = nullptr;
        EXPECT_EQ(hakobi_output_create(comm_, (folder_ + "/run").c_str(), &options, &out), HAKOBI_OK)
            << text();
        return out;
    }
    /// A tetrahedron of this rank's own, with numbers of 32 bits from 1.
    hakobi_mesh tetrahedron() const {
        auto mesh = HAKOBI_INIT(hakobi_mesh);
        mesh.points_type = HAKOBI_FLOAT32;
        mesh.num_points = 4;
        mesh.points = points_;
        mesh.num_cells = 1;
        mesh.types = types_;
        mesh.offsets_type = mesh.connectivity_type = HAKOBI_INT32;
        mesh.offsets = offsets_;
        mesh.connectivity = ids_;
        mesh.first_number = 1;
        return mesh;
    }
    static constexpr float points_[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static constexpr std::uint8_t types_[1] = {10};
    static constexpr std::int32_t offsets_[2] = {0, 4}, ids_[4] = {1, 2, 3, 4};
};

TEST_F(CApiMesh, WhatOneRankCannotPutFailsTheStepOnAll) {
    struct Wrong {
        void (*spoil)(hakobi_mesh&);
        const char* text;
    };
    const Wrong wrongs[] = {
        {[](hakobi_mesh& mesh) { mesh.points = nullptr; }, "coordinates, but they are NULL"},
        {[](hakobi_mesh& mesh) { mesh.types = nullptr; }, "types of cells, but they are NULL"},
        {[](hakobi_mesh& mesh) { mesh.offsets = nullptr; }, "offsets, but they are NULL"},
        {[](hakobi_mesh& mesh) { mesh.num_cells = -1; }, "-1 types of cells"},
        {[](hakobi_mesh& mesh) { mesh.points_type = HAKOBI_INT32; }, "not double or float"},
        {[](hakobi_mesh& mesh) { mesh.connectivity_type = HAKOBI_FLOAT64; }, "not int64 or int32"},
        {[](hakobi_mesh& mesh) { mesh.num_connectivity = 3; }, "offsets end with 4"},
        {[](hakobi_mesh& mesh) { mesh.motion = 9; }, "9 is no motion"},
        {[](hakobi_mesh& mesh) { mesh.first_number = 0; }, "names point 4"},
    };
    for (const Wrong& wrong : wrongs) {
        hakobi_output* out = create("vtkhdf");
        hakobi_mesh mesh = tetrahedron();
        if (rank_ == size_ - 1) wrong.spoil(mesh);
        EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
        (void)hakobi_output_put_mesh(out, &mesh);
        EXPECT_EQ(same_everywhere(hakobi_output_end_step(out)), HAKOBI_INVALID_ARGUMENT) << wrong.text;
        EXPECT_NE(text().find(wrong.text), std::string::npos) << text();
        EXPECT_EQ(hakobi_error_rank(), size_ - 1);
        EXPECT_EQ(same_everywhere(hakobi_output_close(out)), HAKOBI_OK) << text();
        hakobi_output_free(out);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_ == 0) {
            EXPECT_TRUE(std::filesystem::is_empty(folder_)) << wrong.text << ": a file is left";
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_F(CApiMesh, IsReadBackAndNullIsRefusedOnAllRanks) {
    hakobi_output* out = create("vtkhdf");
    const hakobi_mesh mesh = tetrahedron();
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_put_mesh(out, &mesh), HAKOBI_OK) << text();
    ASSERT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK);
    hakobi_output_free(out);

    hakobi_input* in = nullptr;
    ASSERT_EQ(hakobi_input_open(comm_, (folder_ + "/run").c_str(), nullptr, &in), HAKOBI_OK) << text();
    auto found = HAKOBI_INIT(hakobi_input_mesh);
    EXPECT_EQ(hakobi_input_get_mesh(in, 0, nullptr), HAKOBI_INVALID_ARGUMENT);
    ASSERT_EQ(hakobi_input_get_mesh(in, 0, &found), HAKOBI_OK) << text();
    EXPECT_EQ(found.num_points, 4 * size_);
    EXPECT_EQ(found.num_cells, size_);
    EXPECT_EQ(found.num_pieces, size_);
    EXPECT_EQ(found.points_type, HAKOBI_FLOAT32);
    EXPECT_EQ(found.has_ghosts, 0);
    auto part = HAKOBI_INIT(hakobi_mesh_part);
    const int code = hakobi_input_read_mesh(in, 0, rank_ == size_ - 1 ? nullptr : &part);
    EXPECT_EQ(same_everywhere(code), HAKOBI_INVALID_ARGUMENT);
    EXPECT_NE(text().find("part is NULL"), std::string::npos) << text();
    ASSERT_EQ(same_everywhere(hakobi_input_read_mesh(in, 0, &part)), HAKOBI_OK) << text();
    EXPECT_EQ(part.first_cell, rank_);
    EXPECT_EQ(part.num_cells, 1);
    EXPECT_EQ(part.num_points, 4);
    EXPECT_EQ(part.points[11], 1);
    EXPECT_EQ(part.connectivity[part.offsets[1] - 1], 3);
    EXPECT_EQ(part.ghosts, nullptr);
    hakobi_mesh_part_free(&part);
    EXPECT_EQ(part.points, nullptr);
    hakobi_mesh_part_free(&part);
    hakobi_mesh_part_free(nullptr);
    EXPECT_EQ(hakobi_input_close(in), HAKOBI_OK);
    hakobi_input_free(in);
}

TEST_F(CApiMesh, IsNotFoundWhereThereIsNone) {
    hakobi_output* out = create("netcdf4");
    const double value = 1;
    auto field = HAKOBI_INIT(hakobi_field);
    field.name = "a";
    field.type = HAKOBI_FLOAT64;
    field.data = &value;
    field.num_values = 1;
    EXPECT_EQ(hakobi_output_begin_step(out, 0), HAKOBI_OK);
    EXPECT_EQ(hakobi_output_put(out, &field), HAKOBI_OK) << text();
    ASSERT_EQ(hakobi_output_end_step(out), HAKOBI_OK) << text();
    EXPECT_EQ(hakobi_output_close(out), HAKOBI_OK);
    hakobi_output_free(out);
    hakobi_input* in = nullptr;
    ASSERT_EQ(hakobi_input_open(comm_, (folder_ + "/run").c_str(), nullptr, &in), HAKOBI_OK) << text();
    auto mesh = HAKOBI_INIT(hakobi_input_mesh);
    auto part = HAKOBI_INIT(hakobi_mesh_part);
    EXPECT_EQ(hakobi_input_get_mesh(in, -1, &mesh), HAKOBI_NOT_FOUND);
    EXPECT_EQ(same_everywhere(hakobi_input_read_mesh(in, -1, &part)), HAKOBI_NOT_FOUND);
    EXPECT_EQ(part.memory, nullptr);
    EXPECT_EQ(hakobi_input_close(in), HAKOBI_OK);
    hakobi_input_free(in);
}

}  // namespace
