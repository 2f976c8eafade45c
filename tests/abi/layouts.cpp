// Prints the sizes of the types that programs have in their own memory, for tools/symbols. A C++ type whose
// size changes takes the next namespace (docs/decisions/0047); a struct of C only grows.
#include <hakobi/bindings.h>

#include <cstdio>
#include <hakobi/hakobi.hpp>

int main() {
#define SIZE(type) std::printf("%s %zu\n", #type, sizeof(type))
    SIZE(hakobi_attribute);
    SIZE(hakobi_axis);
    SIZE(hakobi_block);
    SIZE(hakobi_buffer_arrays_options);
    SIZE(hakobi_collectives_options);
    SIZE(hakobi_derived_field);
    SIZE(hakobi_field);
    SIZE(hakobi_field_definition);
    SIZE(hakobi_field_info);
    SIZE(hakobi_field_read);
    SIZE(hakobi_halo_field);
    SIZE(hakobi_halo_grid);
    SIZE(hakobi_halo_options);
    SIZE(hakobi_hint);
    SIZE(hakobi_input_field);
    SIZE(hakobi_input_mesh);
    SIZE(hakobi_input_options);
    SIZE(hakobi_memory_layout);
    SIZE(hakobi_mesh);
    SIZE(hakobi_mesh_part);
    SIZE(hakobi_output_options);
    SIZE(hakobi_output_times);
    SIZE(hakobi_outputs_options);
    SIZE(hakobi_selection);
    SIZE(hakobi_store_options);
    SIZE(hakobi_traffic);

    SIZE(hakobi::Axis);
    SIZE(hakobi::Block);
    SIZE(hakobi::BufferArray);
    SIZE(hakobi::BufferArrayOptions);
    SIZE(hakobi::BufferArrays);
    SIZE(hakobi::CollectivePlan);
    SIZE(hakobi::Collectives);
    SIZE(hakobi::CollectivesOptions);
    SIZE(hakobi::Comm);
    SIZE(hakobi::DerivedField);
    SIZE(hakobi::Error);
    SIZE(hakobi::Field);
    SIZE(hakobi::FieldDefinition);
    SIZE(hakobi::FieldInfo);
    SIZE(hakobi::FieldRead);
    SIZE(hakobi::GatherResult);
    SIZE(hakobi::Halo);
    SIZE(hakobi::HaloField);
    SIZE(hakobi::HaloGrid);
    SIZE(hakobi::HaloOptions);
    SIZE(hakobi::Input);
    SIZE(hakobi::InputField);
    SIZE(hakobi::InputMesh);
    SIZE(hakobi::InputOptions);
    SIZE(hakobi::Key);
    SIZE(hakobi::Listing);
    SIZE(hakobi::MemoryLayout);
    SIZE(hakobi::Mesh);
    SIZE(hakobi::MeshPart);
    SIZE(hakobi::NetworkCosts);
    SIZE(hakobi::NetworkShape);
    SIZE(hakobi::Output);
    SIZE(hakobi::OutputOptions);
    SIZE(hakobi::OutputTimes);
    SIZE(hakobi::Outputs);
    SIZE(hakobi::OutputsOptions);
    SIZE(hakobi::Reordering);
    SIZE(hakobi::Selection);
    SIZE(hakobi::SharedArray);
    SIZE(hakobi::Store);
    SIZE(hakobi::StoreCounters);
    SIZE(hakobi::StoreOptions);
    SIZE(hakobi::Topology);
}
