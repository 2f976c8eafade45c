#include "program.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

void require(int holds, const char* what, const char* why) {
    if (holds) return;
    fprintf(stderr, "%s: %s: %s\n", program_name, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void require_mpi(int error, const char* what) {
    if (error == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    require(0, what, text);
}

double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

MPI_Info make_info(const char* hints) {
    MPI_Info info;
    char text[1024];
    if (hints == NULL || *hints == 0) return MPI_INFO_NULL;
    require(strlen(hints) < sizeof text, "--hints", "too long");
    strcpy(text, hints);
    MPI_Info_create(&info);
    char* rest = NULL;
    for (char* item = strtok_r(text, ";", &rest); item != NULL; item = strtok_r(NULL, ";", &rest)) {
        char* const equals = strchr(item, '=');
        require(equals != NULL, "--hints", "not name=value");
        *equals = 0;
        MPI_Info_set(info, item, equals + 1);
    }
    return info;
}
