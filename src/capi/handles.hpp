#pragma once

#include <hakobi.h>

#include <hakobi/collectives.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/input.hpp>
#include <hakobi/output.hpp>
#include <hakobi/outputs.hpp>
#include <map>
#include <string>
#include <vector>

// The structs behind the opaque types of hakobi.h.

struct hakobi_comm {
    hakobi::Comm comm;
};

struct hakobi_output {
    hakobi::Comm comm;  ///< its own
    hakobi::Output output;
    std::map<std::int64_t, hakobi::FieldDefinition> defined;  ///< by FieldId
    std::string explanation;
    std::int64_t num_points,
        num_cells;  ///< of this rank's part of the mesh: what fields that say no number have
};

struct hakobi_outputs {
    hakobi::Comm comm;  ///< its own
    hakobi::Outputs outputs;
    std::map<std::int64_t, hakobi::FieldDefinition> defined;  ///< by FieldId
    std::string explanation;
};

struct hakobi_input {
    hakobi::Input input;
    std::map<std::vector<std::string>, std::string> dims;  ///< joined, as get_field shows them
    std::string explanation;
};

struct hakobi_gather_result {
    hakobi::GatherResult result;
};

struct hakobi_collectives {
    hakobi::Collectives collectives;
};

struct hakobi_collective_plan {
    hakobi::CollectivePlan plan;
    std::string explanation;
};
