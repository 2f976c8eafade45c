#include <hakobi/bindings.h>

#include <memory>
#include <vector>

#include "base/guard.hpp"
#include "capi/fields.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"
#include "mpi/agree.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::Status;
using hakobi::capi::guarded;
using hakobi::capi::taken;
using hakobi::capi::text_or;

namespace {

Error is_null(const char* call, const char* argument) {
    return Error(ErrorCode::invalid_argument, std::string(call) + ": " + argument + " is NULL");
}

void require_outputs(const hakobi_outputs* outs, const char* call) {
    if (outs == nullptr) throw is_null(call, "outs");
}

// Makes the outputs' next steps report the reason on every rank, and throws it here.
[[noreturn]] void refuse(hakobi_outputs& outs, const std::string& text) {
    outs.outputs.refuse(text);
    throw Error(ErrorCode::invalid_argument, text);
}

}  // namespace

int hakobi_outputs_create(hakobi_comm* comm, const char* prefix, const hakobi_outputs_options* options,
                          hakobi_outputs** outs) {
    return guarded([&] {
        constexpr const char* call = "hakobi_outputs_create";
        if (outs != nullptr) *outs = nullptr;
        if (comm == nullptr) throw is_null(call, "comm");
        hakobi::OutputsOptions values;
        const Status local = hakobi::guarded(call, [&] {
            if (prefix == nullptr || outs == nullptr)
                throw is_null(call, prefix == nullptr ? "prefix" : "outs");
            values = hakobi::capi::outputs_options_of(options);
        });
        hakobi::mpi::agree_or_throw(comm->comm, local);
        auto handle = std::unique_ptr<hakobi_outputs>(
            new hakobi_outputs{.comm = comm->comm,
                               .outputs = hakobi::Outputs::create(comm->comm, prefix, std::move(values)),
                               .defined = {},
                               .explanation = {}});
        *outs = handle.release();
    });
}

int hakobi_outputs_define(hakobi_outputs* outs, const hakobi_field_definition* definition, int64_t* field) {
    return guarded([&] {
        constexpr const char* call = "hakobi_outputs_define";
        require_outputs(outs, call);
        if (field == nullptr) throw is_null(call, "field");
        *field = 0;
        if (definition == nullptr) throw is_null(call, "definition");
        // Made before the outputs have the field: nothing fails after that.
        std::map<std::int64_t, hakobi::FieldDefinition> made;
        made.emplace(0, hakobi::capi::definition_of(taken(definition, "hakobi_field_definition")));
        auto defined = made.extract(made.begin());
        *field = static_cast<int64_t>(outs->outputs.define(defined.mapped()));
        defined.key() = *field;
        outs->defined.insert(std::move(defined));
    });
}

int hakobi_outputs_add(hakobi_outputs* outs, const char* prefix, const hakobi_output_options* options,
                       const char* every, const hakobi_derived_field* fields, int64_t num_fields) {
    return guarded([&] {
        constexpr const char* call = "hakobi_outputs_add";
        require_outputs(outs, call);
        hakobi::OutputOptions values;
        std::vector<hakobi::DerivedField> derived;
        const Status local = hakobi::guarded(call, [&] {
            if (prefix == nullptr) throw is_null(call, "prefix");
            values = hakobi::capi::output_options_of(options);
            derived = hakobi::capi::derived_fields_of(fields, num_fields);
        });
        hakobi::mpi::agree_or_throw(outs->comm, local);
        outs->outputs.add(prefix, std::move(values), text_or(every), derived);
    });
}

int hakobi_outputs_refuse_add(hakobi_outputs* outs, const char* text) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_refuse_add");
        hakobi::mpi::agree_or_throw(outs->comm, {ErrorCode::invalid_argument, text_or(text)});
    });
}

int hakobi_outputs_resume_time(const hakobi_outputs* outs, int* is_resumed, double* time) {
    return guarded([&] {
        constexpr const char* call = "hakobi_outputs_resume_time";
        require_outputs(outs, call);
        if (is_resumed == nullptr || time == nullptr)
            throw is_null(call, is_resumed == nullptr ? "is_resumed" : "time");
        const std::optional<double> found = outs->outputs.resume_time();
        *is_resumed = found ? 1 : 0;
        *time = found.value_or(0);
    });
}

int hakobi_outputs_begin_step(hakobi_outputs* outs, double time) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_begin_step");
        outs->outputs.begin_step(time);
    });
}

int hakobi_outputs_put(hakobi_outputs* outs, int64_t field, const hakobi_block* block, const void* data,
                       const hakobi_memory_layout* layout) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_put");
        const auto found = outs->defined.find(field);
        if (found == outs->defined.end())
            refuse(*outs, "put: the field " + std::to_string(field) + " is none that define has returned");
        hakobi::capi::Lent lent;
        try {
            lent =
                hakobi::capi::lent_of(found->second, block, data, taken(layout, "hakobi_memory_layout"), 0);
        } catch (const Error& error) {
            refuse(*outs, "field " + found->second.name + ": " + error.what());
        }
        outs->outputs.put(static_cast<hakobi::FieldId>(field), lent.block, lent.data, lent.layout);
    });
}

int hakobi_outputs_refuse(hakobi_outputs* outs, const char* text) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_refuse");
        refuse(*outs, text_or(text));
    });
}

int hakobi_outputs_end_step(hakobi_outputs* outs) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_end_step");
        outs->outputs.end_step();
    });
}

int hakobi_outputs_checkpoint(hakobi_outputs* outs) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_checkpoint");
        outs->outputs.checkpoint();
    });
}

int hakobi_outputs_close(hakobi_outputs* outs) {
    return guarded([&] {
        require_outputs(outs, "hakobi_outputs_close");
        outs->outputs.close();
    });
}

void hakobi_outputs_free(hakobi_outputs* outs) {
    delete outs;
}

const char* hakobi_outputs_explain(hakobi_outputs* outs) {
    if (outs == nullptr) return nullptr;
    try {
        outs->explanation = outs->outputs.explain();
    } catch (const std::bad_alloc&) {
        return "out of memory";
    }
    return outs->explanation.c_str();
}
