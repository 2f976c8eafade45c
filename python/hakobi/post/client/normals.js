// Which way a surface looks at its points, so that it is drawn as round as it is (hakobi/post/mesh_picture.py does alike).

const EDGE = Math.cos((40 * Math.PI) / 180); // surfaces that meet at a larger angle meet in an edge
const SLIVER = 0.02; // triangles so small beside those about them look anywhere

// Four bytes a point: its normal and 127, or zeros where there is an edge and each triangle has a normal of its own.
export function normalsOf(positions, triangles) {
  const count = positions.length / 3;
  const sums = new Float32Array(positions.length);
  const faces = new Float32Array(triangles.length);
  const lengths = new Float32Array(count);
  for (let n = 0; n < triangles.length; n += 3) {
    const [a, b, c] = [3 * triangles[n], 3 * triangles[n + 1], 3 * triangles[n + 2]];
    const [ux, uy, uz] = [positions[b] - positions[a], positions[b + 1] - positions[a + 1], positions[b + 2] - positions[a + 2]];
    const [vx, vy, vz] = [positions[c] - positions[a], positions[c + 1] - positions[a + 1], positions[c + 2] - positions[a + 2]];
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx]; // as long as the triangle is large
    for (const at of [a, b, c]) { sums[at] += x; sums[at + 1] += y; sums[at + 2] += z; }
    faces[n] = x; faces[n + 1] = y; faces[n + 2] = z;
  }
  const found = new Int8Array(4 * count);
  for (let n = 0; n < count; n += 1) {
    const size = lengths[n] = Math.hypot(sums[3 * n], sums[3 * n + 1], sums[3 * n + 2]) || 1;
    for (let d = 0; d < 3; d += 1) { sums[3 * n + d] /= size; found[4 * n + d] = Math.round(127 * sums[3 * n + d]); }
    found[4 * n + 3] = 127;
  }
  for (let n = 0; n < triangles.length; n += 1) {
    const [at, face] = [3 * triangles[n], n - (n % 3)];
    const size = Math.hypot(faces[face], faces[face + 1], faces[face + 2]);
    const along = sums[at] * faces[face] + sums[at + 1] * faces[face + 1] + sums[at + 2] * faces[face + 2];
    if (along < EDGE * size && size > SLIVER * lengths[triangles[n]]) found.fill(0, 4 * triangles[n], 4 * triangles[n] + 4);
  }
  return found;
}
