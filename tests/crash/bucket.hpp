#pragma once

#include <cstddef>
#include <string>

#include "recorder.hpp"

namespace hakobi::test {

/// The bucket "s3://crash": its objects are files of the folder ROOT/bucket, and every change of them is
/// recorded, when it takes effect.
inline constexpr const char* bucket_prefix = "s3://crash/run";
inline constexpr const char* bucket_folder = "/bucket";

/// A server's answer, or a request, that goes astray. What is late comes before its object is removed at the
/// latest: behind that, nobody could tell it from a new one.
struct Mishap {
    enum class Kind {
        none,
        lost,  ///< the change takes effect, and the client is told of an error
        late,  ///< of a put: the client is told of an error, and it takes effect `until` accesses later
        twice  ///< of a put: it takes effect, and so many accesses later once more
    };
    Kind kind = Kind::none;
    std::size_t nth = 0;  ///< of the changes of objects, from 0
    std::size_t until = 0;
};

/// From now on this process finds the bucket there.
void serve_bucket(const std::string& root, const Mishap& mishap = {});
/// Before the n-th access from now on (from 0) comes a put of a client that is gone. Its condition holds, or
/// not, then.
void deliver(const Operation& put, std::size_t nth);
/// Ends mishaps and deliveries; what is still on its way arrives now. Whether the mishap has happened, or
/// the delivery has come before.
bool end_mishaps();

}  // namespace hakobi::test
