#pragma once

// Finds the MPI library in the front's process, and the drop-in for it. Nothing here is exported.

typedef long word;  // an integer register, on every LP64 system
typedef word (*function)(word, word, word, word, word, word);
_Static_assert(sizeof(word) == sizeof(void*), "arguments pass in registers of pointer size");

struct front_library {
    void* handle;    // of the MPI library; null: there is none
    const void* at;  // its load address
    void* drop_in;   // the drop-in's handle, or null: every call goes straight on
};

// Finds the MPI library and loads its drop-in. A reason against the drop-in is printed as one line on stderr.
struct front_library front_find(void);

// Whether the process has an MPI library in which MPI was initialised, be it finalised since.
int front_mpi_is_initialized(void);

// A function by name in an object or by scope (RTLD_NEXT of this object), null without one.
function front_function(void* handle, const char* name);

// The load address of the object that has `symbol`, null without one.
const void* front_object(const void* symbol);

// Returns the symbol `name` of the object that defines `symbol`, null if it has none.
void* front_own_symbol(const void* symbol, const char* name);

// A line on stderr about the tool that has `symbol`, whose calls do not come back to the front.
void front_say_bypassed(const void* symbol);

// Whether the object that has `symbol` is such a front: this one, or another installation's.
int front_is_front(const void* symbol);
