// Geometry of the map.
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

// Whether a point is inside a polygon: a ray from it crosses the outline an odd number of times.
export function inside([px, py], polygon) {
  let odd = false;
  polygon.forEach(([x1, y1], k) => {
    const [x2, y2] = polygon[(k + 1) % polygon.length];
    if (y1 > py !== y2 > py && px < x1 + ((x2 - x1) * (py - y1)) / (y2 - y1)) odd = !odd;
  });
  return odd;
}

const CELLS = 64; // of the grid of densities, along each axis

// Lines of equal density at three levels: counts on a grid, smoothed, then marching squares.
export function contours({ x, y }, extent) {
  const [left, low] = [extent.x[0], extent.y[0]];
  const [wide, high] = [(extent.x[1] - left) / (CELLS - 1) || 1, (extent.y[1] - low) / (CELLS - 1) || 1];
  let grid = new Float32Array(CELLS * CELLS);
  x.forEach((value, k) => (grid[Math.round((y[k] - low) / high) * CELLS + Math.round((value - left) / wide)] += 1));
  for (const step of [1, CELLS, 1, CELLS]) { // two binomial filters along each axis
    grid = grid.map((value, k) => (2 * value + (grid[k - step] ?? 0) + (grid[k + step] ?? 0)) / 4);
  }
  const dense = [...grid].filter((value) => value > 0.05).sort((a, b) => a - b);
  return [0.5, 0.75, 0.92].map((share, level) => {
    const limit = dense[Math.floor(share * (dense.length - 1))] ?? 1;
    const segments = [];
    for (let row = 0; row < CELLS - 1; row++) {
      for (let column = 0; column < CELLS - 1; column++) segments.push(...crossings(grid, row, column, limit));
    }
    return { level, segments: segments.map(([a, b, c, d]) => [left + a * wide, low + b * high, left + c * wide, low + d * high]) };
  });
}

// Where the line of a level crosses one square of the grid: none, one or two segments.
function crossings(grid, row, column, limit) {
  const corners = [[column, row], [column + 1, row], [column + 1, row + 1], [column, row + 1]];
  const points = [];
  corners.forEach(([x1, y1], k) => {
    const [x2, y2] = corners[(k + 1) % 4];
    const [a, b] = [grid[y1 * CELLS + x1] - limit, grid[y2 * CELLS + x2] - limit];
    if (a > 0 !== b > 0) points.push([x1 + ((x2 - x1) * a) / (a - b), y1 + ((y2 - y1) * a) / (a - b)]);
  });
  const segments = [];
  for (let k = 0; k + 1 < points.length; k += 2) segments.push([...points[k], ...points[k + 1]]);
  return segments;
}
