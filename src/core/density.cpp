// Minimum spanning tree of mutual reachability distances: see linkwise/density/_tree.py.
//
// Compiled without reordering of sums (CMakeLists.txt): equal distances must be equal numbers,
// wherever the rows are, so that ties are recognized.
#include "bindings.h"

namespace linkwise {
namespace {

// Squared distances of x to the first n of the transposed rows.
LINKWISE_CLONES
void squared_distances(const double *x, const double *columns, i64 stride, i64 n, i64 d,
                       double *out) {
    std::fill_n(out, n, 0.0);
    for (i64 f = 0; f < d; f++) {
        const double *column = columns + f * stride;
        for (i64 j = 0; j < n; j++) {
            const double away = x[f] - column[j];
            out[j] += away * away;
        }
    }
}

struct Edges {
    Table<i64> ends;
    Array<double> reach, distance, core;
};

// Prim's algorithm: O(n^2) distances, O(n) memory. Edges are compared by mutual reachability,
// then by distance, then by the position of the row outside the tree.
void spanning_tree(Table<const double> X, Array<const i64> neighbor, Edges edges) {
    const i64 n = X.rows, d = X.columns;
    std::vector<double> columns(n * d), away(n);
    for (i64 i = 0; i < n; i++)
        for (i64 f = 0; f < d; f++) columns[f * n + i] = X[i][f];
    for (i64 i = 0; i < n; i++)
        squared_distances(X[i], columns.data() + neighbor[i], n, 1, d, &edges.core[i]);
    std::vector<i64> row(n), near(n, 0);  // rows outside the tree, and their ends in it
    std::vector<double> core(edges.core.begin(), edges.core.end()), best(n, infinity), length(n, infinity);
    for (i64 i = 0; i < n; i++) row[i] = i;
    i64 n_listed = n, n_done = 0, last = 0;  // `last` is a position in the list
    for (i64 e = 0; e + 1 < n; e++) {
        const i64 joined = row[last];
        core[last] = best[last] = infinity;  // a row in the tree is no candidate any more
        length[last] = -infinity;
        if (2 * ++n_done > n_listed) {  // half of the list is in the tree: keep the rest, in order
            i64 kept = 0;
            for (i64 t = 0; t < n_listed; t++) {
                if (length[t] == -infinity) continue;
                row[kept] = row[t], near[kept] = near[t], core[kept] = core[t];
                best[kept] = best[t], length[kept] = length[t];
                for (i64 f = 0; f < d; f++) columns[f * n + kept] = columns[f * n + t];
                kept++;
            }
            n_listed = kept, n_done = 0;
        }
        squared_distances(X[joined], columns.data(), n, n_listed, d, away.data());
        i64 first = -1;
        for (i64 t = 0; t < n_listed; t++) {
            const double reach = std::max(std::max(away[t], edges.core[joined]), core[t]);
            if (reach < best[t] || (reach == best[t] && away[t] < length[t]))
                best[t] = reach, length[t] = away[t], near[t] = joined;
            if (length[t] == -infinity) continue;
            if (first < 0 || best[t] < best[first] ||
                (best[t] == best[first] && length[t] < length[first]))
                first = t;
        }
        last = first;
        edges.ends[e][0] = near[last], edges.ends[e][1] = row[last];
        edges.reach[e] = best[last], edges.distance[e] = length[last];
    }
}

}  // namespace

void bind_density(nb::module_ &m) {
    m.def("spanning_tree",
          [](In2<double> X, In1<i64> neighbor, Out2<i64> ends, Out1<double> reach,
             Out1<double> distance, Out1<double> core) {
              const i64 n = X.shape(0);
              check(n > 0, "X has no rows");
              check_length(neighbor, n, "neighbor");
              check_indices(neighbor, n, "neighbor");
              check_shape(ends, n - 1, 2, "ends");
              check_length(reach, n - 1, "reach");
              check_length(distance, n - 1, "distance");
              check_length(core, n, "core");
              nb::gil_scoped_release free;
              spanning_tree(table(X), array(neighbor),
                            {table(ends), array(reach), array(distance), array(core)});
          },
          as_is("X"), nb::arg("neighbor"), as_is("ends"), as_is("reach"), as_is("distance"),
          as_is("core"),
          "Edges of the minimum spanning tree of mutual reachability; all distances squared.");
}

}  // namespace linkwise
