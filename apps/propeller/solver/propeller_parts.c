/* 1. A family of cells or faces belongs to a group when the group's name is among the family's items.
 * 2. A tetrahedron's points are those of its first face and the one that another of its faces has beside
 *    them. VTK wants the first three to turn right-handed towards the fourth, so that their normal points
 *    inwards; a face's normal points from its first cell to its second, and out of the mesh at the boundary.
 * 3. Each part numbers its points as its elements meet them. */
#include "propeller_parts.h"

#include <math.h>
#include <string.h>

#include "bft_error.h"
#include "bft_mem.h"

#include "propeller_setting.h"

static propeller_part parts[PROPELLER_NUM_PARTS];
static double* turned[PROPELLER_NUM_PARTS];

/* Whether each family belongs to a group: num_families entries. */
static void find_families(const cs_mesh_t* mesh, const char* group, bool* belongs) {
    for (int family = 0; family < mesh->n_families; family++) {
        belongs[family] = false;
        for (int item = 0; item < mesh->n_max_family_items; item++) {
            const int value = mesh->family_item[item * mesh->n_families + family];
            if (value < 0 && strcmp(mesh->group + mesh->group_idx[-value - 1], group) == 0)
                belongs[family] = true;
        }
    }
}

static void add_face(cs_lnum_t vertices[], int* num_vertices, const cs_lnum_t face[3], bool is_outward) {
    if (*num_vertices == 0) {
        for (int i = 0; i < 3; i++) vertices[i] = face[is_outward ? 2 - i : i];
        *num_vertices = 3;
    } else if (*num_vertices == 3) {
        for (int i = 0; i < 3; i++) {
            const cs_lnum_t vertex = face[i];
            if (vertex != vertices[0] && vertex != vertices[1] && vertex != vertices[2]) {
                vertices[3] = vertex;
                *num_vertices = 4;
                return;
            }
        }
    }
}

/* The four vertices of every cell. */
static cs_lnum_t* tetrahedra(const cs_mesh_t* mesh) {
    cs_lnum_t* vertices = NULL;
    int *num_vertices = NULL, *num_faces = NULL;
    bool is_triangular = true;
    BFT_MALLOC(vertices, 4 * (size_t)mesh->n_cells, cs_lnum_t);
    BFT_MALLOC(num_vertices, mesh->n_cells, int);
    BFT_MALLOC(num_faces, mesh->n_cells, int);
    memset(num_vertices, 0, sizeof(int) * (size_t)mesh->n_cells);
    memset(num_faces, 0, sizeof(int) * (size_t)mesh->n_cells);
    for (cs_lnum_t face = 0; face < mesh->n_i_faces; face++) {
        const cs_lnum_t begin = mesh->i_face_vtx_idx[face];
        is_triangular = is_triangular && mesh->i_face_vtx_idx[face + 1] - begin == 3;
        for (int side = 0; side < 2; side++) {
            const cs_lnum_t cell = mesh->i_face_cells[face][side];
            if (cell >= mesh->n_cells) continue; /* another rank's */
            add_face(vertices + 4 * (size_t)cell, num_vertices + cell, mesh->i_face_vtx_lst + begin,
                     side == 0);
            num_faces[cell]++;
        }
    }
    for (cs_lnum_t face = 0; face < mesh->n_b_faces; face++) {
        const cs_lnum_t begin = mesh->b_face_vtx_idx[face], cell = mesh->b_face_cells[face];
        is_triangular = is_triangular && mesh->b_face_vtx_idx[face + 1] - begin == 3;
        add_face(vertices + 4 * (size_t)cell, num_vertices + cell, mesh->b_face_vtx_lst + begin, true);
        num_faces[cell]++;
    }
    for (cs_lnum_t cell = 0; cell < mesh->n_cells; cell++)
        if (!is_triangular || num_faces[cell] != 4 || num_vertices[cell] != 4)
            bft_error(__FILE__, __LINE__, 0, "cell %d is no tetrahedron: the writer takes meshes of these",
                      (int)cell);
    BFT_FREE(num_vertices);
    BFT_FREE(num_faces);
    return vertices;
}

static void begin_part(propeller_part* part, const char* name, int points_of_element, uint8_t vtk_type,
                       bool turns, cs_lnum_t most_elements) {
    part->name = name;
    part->points_of_element = points_of_element;
    part->vtk_type = vtk_type;
    part->turns = turns;
    part->num_elements = 0;
    part->num_points = 0;
    part->points = NULL;
    BFT_MALLOC(part->cells, most_elements, cs_lnum_t);
    BFT_MALLOC(part->connectivity, points_of_element * (size_t)most_elements, int32_t);
}

/* Step 3: connectivity holds the mesh's vertices so far, and the part's points afterwards. */
static void number_points(propeller_part* part, const cs_mesh_t* mesh) {
    const size_t num_entries = (size_t)part->points_of_element * (size_t)part->num_elements;
    int32_t* number = NULL;
    BFT_MALLOC(number, mesh->n_vertices, int32_t);
    for (cs_lnum_t vertex = 0; vertex < mesh->n_vertices; vertex++) number[vertex] = -1;
    BFT_MALLOC(part->points, 3 * (size_t)mesh->n_vertices, double);
    for (size_t i = 0; i < num_entries; i++) {
        const int32_t vertex = part->connectivity[i];
        if (number[vertex] < 0) {
            memcpy(part->points + 3 * (size_t)part->num_points, mesh->vtx_coord + 3 * (size_t)vertex,
                   3 * sizeof(double));
            number[vertex] = (int32_t)part->num_points++;
        }
        part->connectivity[i] = number[vertex];
    }
    BFT_FREE(number);
    BFT_REALLOC(part->points, 3 * (size_t)part->num_points, double);
    BFT_MALLOC(part->offsets, part->num_elements + 1, int32_t);
    BFT_MALLOC(part->types, part->num_elements, uint8_t);
    for (cs_lnum_t i = 0; i <= part->num_elements; i++)
        part->offsets[i] = (int32_t)(i * part->points_of_element);
    memset(part->types, part->vtk_type, (size_t)part->num_elements);
}

static void take_wall(const cs_mesh_t* mesh, const bool is_blade[], const bool is_hub[]) {
    propeller_part* wall = parts + PROPELLER_WALL;
    begin_part(wall, "wall", 3, 5, true, mesh->n_b_faces);
    for (cs_lnum_t face = 0; face < mesh->n_b_faces; face++) {
        const int family = mesh->b_face_family[face] - 1;
        const cs_lnum_t begin = mesh->b_face_vtx_idx[face];
        if (!is_blade[family] && !is_hub[family]) continue;
        for (int i = 0; i < 3; i++)
            wall->connectivity[3 * (size_t)wall->num_elements + i] = (int32_t)mesh->b_face_vtx_lst[begin + i];
        wall->cells[wall->num_elements++] = mesh->b_face_cells[face];
    }
    number_points(wall, mesh);
}

void propeller_take_parts(const cs_mesh_t* mesh) {
    cs_lnum_t* vertices = tetrahedra(mesh);
    bool *is_rotor = NULL, *is_blade = NULL, *is_hub = NULL;
    BFT_MALLOC(is_rotor, mesh->n_families, bool);
    BFT_MALLOC(is_blade, mesh->n_families, bool);
    BFT_MALLOC(is_hub, mesh->n_families, bool);
    find_families(mesh, PROPELLER_ROTOR_CELLS, is_rotor);
    find_families(mesh, PROPELLER_BLADES, is_blade);
    find_families(mesh, PROPELLER_HUB, is_hub);
    begin_part(parts + PROPELLER_ROTOR, "rotor", 4, 10, true, mesh->n_cells);
    begin_part(parts + PROPELLER_STATOR, "stator", 4, 10, false, mesh->n_cells);
    for (cs_lnum_t cell = 0; cell < mesh->n_cells; cell++) {
        propeller_part* part =
            parts + (is_rotor[mesh->cell_family[cell] - 1] ? PROPELLER_ROTOR : PROPELLER_STATOR);
        for (int i = 0; i < 4; i++)
            part->connectivity[4 * (size_t)part->num_elements + i] = (int32_t)vertices[4 * (size_t)cell + i];
        part->cells[part->num_elements++] = cell;
    }
    number_points(parts + PROPELLER_ROTOR, mesh);
    number_points(parts + PROPELLER_STATOR, mesh);
    take_wall(mesh, is_blade, is_hub);
    BFT_FREE(is_rotor);
    BFT_FREE(is_blade);
    BFT_FREE(is_hub);
    BFT_FREE(vertices);
}

const propeller_part* propeller_get_part(int part) {
    return parts + part;
}

const double* propeller_turned_points(int number, double angle) {
    const propeller_part* part = parts + number;
    const double c = cos(angle), s = sin(angle);
    if (turned[number] == NULL) BFT_MALLOC(turned[number], 3 * (size_t)part->num_points, double);
    for (cs_lnum_t i = 0; i < part->num_points; i++) {
        const double* from = part->points + 3 * (size_t)i;
        double* to = turned[number] + 3 * (size_t)i;
        to[0] = from[0];
        to[1] = c * from[1] + s * from[2];
        to[2] = c * from[2] - s * from[1];
    }
    return turned[number];
}

void propeller_free_parts(void) {
    for (int number = 0; number < PROPELLER_NUM_PARTS; number++) {
        propeller_part* part = parts + number;
        BFT_FREE(part->cells);
        BFT_FREE(part->points);
        BFT_FREE(part->connectivity);
        BFT_FREE(part->offsets);
        BFT_FREE(part->types);
        BFT_FREE(turned[number]);
    }
}
