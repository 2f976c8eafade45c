#pragma once

#include <cstdint>
#include <hakobi/store.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hakobi::bench {

/// The fields that one process archives: `num_fields` messages of `field_bytes` or a little more, whose keys
/// differ from process to process and from field to field. The bytes are one message, changed in the octets
/// of its step and level, so that making it costs nothing beside archiving it.
class Fields {
  public:
    Fields(std::int64_t field_bytes, std::int64_t num_fields, int process);
    [[nodiscard]] std::int64_t size() const { return num_fields_; }
    [[nodiscard]] std::int64_t message_bytes() const {
        return static_cast<std::int64_t>(messages_[0].size());
    }
    /// The message of a field; valid until the next call.
    std::span<const std::byte> message(std::int64_t field);
    [[nodiscard]] Key key(std::int64_t field) const;

  private:
    std::int64_t num_fields_;
    int process_;
    std::vector<std::vector<std::byte>> messages_;  ///< one for each parameter
    std::vector<std::size_t> product_;              ///< where their section 4 begins
};

/// A way to store fields, in a folder of its own that is empty before archive. Each process has one; retrieve
/// and list are called by one process when every process has archived. Throws Error.
class Contender {
  public:
    virtual ~Contender() = default;
    /// Opens, archives, flushes with the contender's own durability, and closes.
    virtual void archive(Fields& fields, bool is_keyed) = 0;
    /// Every 7th field of process 0, one by one; the bytes read. Opens and closes. Compares the bytes that
    /// were read.
    virtual std::int64_t retrieve(Fields& fields) = 0;
    /// The number of fields that a listing of everything tells, -1 where there is no listing.
    virtual std::int64_t list() = 0;
};

/// Whether it names object storage: a contender of that name is the store there.
bool is_place(const std::string& name);
/// Removes all objects with this prefix.
void remove_objects(const std::string& prefix);

/// "hakobi", "fdb", "dd" or a place; invalid_argument for others.
std::unique_ptr<Contender> make_contender(const std::string& name, const std::string& folder, int process);

}  // namespace hakobi::bench
