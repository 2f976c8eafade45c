// hakobi-scale: how long one collective write of a pattern takes on a machine that is only described, by the
// planner's own code. Reads cases (JSON lines: a machine's costs, ranks, methods, a pattern, its size, a
// layout) and appends a record for each method. `hakobi study scale` makes the cases; docs/measure.md has the
// model.
#include <cstdio>
#include <fstream>
#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include "case.hpp"
#include "measure/record.hpp"

namespace hakobi::bench::scale {
namespace {

int run(int argc, char** argv) {
    std::string json, cases;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--json") json = argv[i + 1];
        if (option == "--cases") cases = argv[i + 1];
    }
    std::ifstream file(cases);
    if (argc % 2 == 0 || cases.empty() || !file) {
        std::fprintf(stderr, "usage: hakobi-scale --cases FILE --json FILE\n");
        return 2;
    }
    auto writer = measure::RecordWriter::open(json);
    if (!writer.ok()) {
        std::fprintf(stderr, "hakobi-scale: %s\n", writer.status().text().c_str());
        return 2;
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) lines.push_back(line);
    const Status status = run_cases(lines, [&](const measure::Record& record) {
        (void)writer.value().write(record);  // kept, and returned below
    });
    const Status written = writer.value().write(measure::Record{{"kind", "end"}});
    for (const Status& each : {status, written}) {
        if (each.ok()) continue;
        std::fprintf(stderr, "hakobi-scale: %s\n", each.text().c_str());
        return 2;
    }
    return 0;
}

}  // namespace
}  // namespace hakobi::bench::scale

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    const int status = hakobi::bench::scale::run(argc, argv);
    MPI_Finalize();
    return status;
}
