// Assignment under hard constraints: greedy, improved by moves and swaps; disjoint apart groups
// exactly. Vertices are must-link components ("groups"). See linkwise/kmeans/solver.
#include <cmath>

#include "bindings.h"

namespace linkwise {
namespace {

struct Graph {
    Array<const u32> indptr, neighbor;
    Array<const u32> of(i64 v) const { return {neighbor.data + indptr[v], i64(indptr[v + 1]) - i64(indptr[v])}; }
};

// Cost of each group of rows in each cluster, and its cheapest cluster.
LINKWISE_CLONES void group_costs(Table<const double> distance, Array<const i64> group, Table<double> cost,
                                 Array<i32> nearest) {
    const i64 k = cost.columns;
    std::fill_n(cost.data, cost.rows * k, 0.0);
    for (i64 i = 0; i < group.size; i++) {
        double *to = cost[group[i]];
        const double *from = distance[i];
        for (i64 c = 0; c < k; c++) to[c] += from[c];
    }
    for (i64 g = 0; g < cost.rows; g++) nearest[g] = i32(std::min_element(cost[g], cost[g] + k) - cost[g]);
}

// The Hungarian method with potentials, one vertex at a time: O(m^2 k) for a clique of m. Rows and
// clusters count from 1; column 0 holds the vertex that is being assigned.
class Hungarian {
  public:
    explicit Hungarian(i64 k) : k(k), u(k + 1), v(k + 1), least(k + 1), row_of(k + 1), way(k + 1), used(k + 1) {}

    void operator()(Array<const i64> members, Table<const double> cost, Array<i32> labels) {
        std::fill(u.begin(), u.end(), 0.0);
        std::fill(v.begin(), v.end(), 0.0);
        std::fill(row_of.begin(), row_of.end(), 0);
        for (i64 i = 1; i <= members.size; i++) {
            row_of[0] = i;
            std::fill(least.begin(), least.end(), infinity);
            std::fill(used.begin(), used.end(), 0);
            i64 j = 0;
            do {
                used[j] = 1;
                const i64 row = row_of[j];
                const double *here = cost[members[row - 1]];
                double delta = infinity;
                i64 next = 0;
                for (i64 c = 1; c <= k; c++) {
                    if (used[c]) continue;
                    const double now = here[c - 1] - u[row] - v[c];
                    if (now < least[c]) least[c] = now, way[c] = j;
                    if (least[c] < delta || !next) delta = least[c], next = c;
                }
                for (i64 c = 0; c <= k; c++) {
                    if (used[c]) u[row_of[c]] += delta, v[c] -= delta;
                    else least[c] -= delta;
                }
                j = next;
            } while (row_of[j]);
            for (; j; j = way[j]) row_of[j] = row_of[way[j]];
        }
        for (i64 c = 1; c <= k; c++)
            if (row_of[c]) labels[members[row_of[c] - 1]] = i32(c - 1);
    }

  private:
    i64 k;
    std::vector<double> u, v, least;
    std::vector<i64> row_of, way;
    std::vector<char> used;
};

// Different clusters for the vertices of each disjoint clique at the least total cost. A clique
// whose nearest clusters differ already is done at once.
void assign_cliques(Array<const i64> starts, Array<const i64> members, Table<const double> cost,
                    Array<const i32> nearest, Array<i32> labels) {
    Hungarian solve(cost.columns);
    std::vector<char> taken(cost.columns);
    for (i64 g = 0; g + 1 < starts.size; g++) {
        const Array<const i64> clique{members.data + starts[g], starts[g + 1] - starts[g]};
        std::fill(taken.begin(), taken.end(), 0);
        bool differ = true;
        for (const i64 v : clique) {
            differ &= !taken[nearest[v]];
            taken[nearest[v]] = 1;
            labels[v] = nearest[v];
        }
        if (!differ) solve(clique, cost, labels);
    }
}

// Each group in turn takes its cheapest cluster that no cannot-linked group has yet; returns -1, or
// the group that found none left.
i64 greedy_hard(Array<const i64> order, Table<const double> cost, Array<i32> labels, const Graph &graph) {
    const i64 k = cost.columns;
    std::vector<char> taken(k);
    std::fill(labels.begin(), labels.end(), -1);
    for (const i64 i : order) {
        std::fill(taken.begin(), taken.end(), 0);
        for (const i64 v : graph.of(i))
            if (labels[v] >= 0) taken[labels[v]] = 1;
        i64 best = -1;
        for (i64 c = 0; c < k; c++)
            if (!taken[c] && (best < 0 || cost[i][c] < cost[i][best])) best = c;
        if (best < 0) return i;
        labels[i] = i32(best);
    }
    return -1;
}

// Groups move to cheaper clusters as long as no cannot-link breaks; linked pairs also swap. A group
// in its nearest cluster has nothing to gain by itself; a swap is proposed by the other.
void improve_hard(Array<const i64> order, Table<const double> cost, Array<const i32> nearest,
                  Array<i32> labels, const Graph &graph, i64 max_sweeps) {
    const i64 k = cost.columns;
    std::vector<i64> taken(k);
    // Whether j, which alone keeps i out of its cluster, may change places with i, and that pays.
    auto may_swap = [&](i64 i, i64 j) {
        const i64 a = labels[i], b = labels[j];
        const double gain = cost[i][a] + cost[j][b] - cost[i][b] - cost[j][a];
        if (gain <= 1e-12 * (std::abs(cost[i][a]) + std::abs(cost[j][b]))) return false;
        for (const i64 v : graph.of(j))
            if (v != i && labels[v] == a) return false;
        return true;
    };
    for (i64 sweep = 0; sweep < max_sweeps; sweep++) {
        bool moved = false;
        for (const i64 i : order) {
            if (labels[i] == nearest[i]) continue;
            std::fill(taken.begin(), taken.end(), 0);
            for (const i64 v : graph.of(i)) taken[labels[v]]++;
            i64 best = labels[i];
            for (i64 c = 0; c < k; c++)
                if (taken[c] == 0 && cost[i][c] < cost[i][best]) best = c;
            if (best != labels[i]) {
                labels[i] = i32(best);
                moved = true;
                continue;
            }
            for (const i64 j : graph.of(i)) {
                if (taken[labels[j]] != 1 || !may_swap(i, j)) continue;
                std::swap(labels[i], labels[j]);
                moved = true;
                break;
            }
        }
        if (!moved) break;
    }
}

Graph checked_graph(const In1<u32> &indptr, const In1<u32> &neighbor, i64 n) {
    check_starts(indptr, n, i64(neighbor.size()), "indptr");
    check_indices(neighbor, n, "neighbor");
    return {array(indptr), array(neighbor)};
}

}  // namespace

void bind_kmeans_hard(nb::module_ &m) {
    m.def("group_costs",
          [](In2<double> distance, In1<i64> group, Out2<double> cost, Out1<i32> nearest) {
              const i64 k = cost.shape(1);
              check(k > 0, "there are no clusters");
              check_shape(distance, group.size(), k, "distance");
              check_indices(group, cost.shape(0), "group");
              check_length(nearest, cost.shape(0), "nearest");
              nb::gil_scoped_release free;
              group_costs(table(distance), array(group), table(cost), array(nearest));
          },
          nb::arg("distance"), nb::arg("group"), as_is("cost"), as_is("nearest"),
          "Cost of each group of rows in each cluster, and its cheapest cluster.");
    m.def("assign_cliques",
          [](In1<i64> starts, In1<i64> members, In2<double> cost, In1<i32> nearest, Out1<i32> labels) {
              const i64 n = cost.shape(0), k = cost.shape(1), last = i64(starts.size()) - 1;
              check(last >= 0 && starts.data()[0] >= 0 && starts.data()[last] <= i64(members.size()),
                    "starts must be inside members");
              for (i64 g = 0; g < last; g++) {
                  const i64 size = starts.data()[g + 1] - starts.data()[g];
                  check(0 <= size && size <= k, "a clique has more members than there are clusters");
              }
              check_indices(members, n, "members");
              check_length(nearest, n, "nearest");
              check_indices(nearest, k, "nearest");
              check_length(labels, n, "labels");
              nb::gil_scoped_release free;
              assign_cliques(array(starts), array(members), table(cost), array(nearest), array(labels));
          },
          nb::arg("starts"), nb::arg("members"), nb::arg("cost"), nb::arg("nearest"), as_is("labels"),
          "Give the vertices of each disjoint clique different clusters at the least total cost.");
    m.def("greedy_hard",
          [](In1<i64> order, In2<double> cost, Out1<i32> labels, In1<u32> indptr, In1<u32> neighbor) {
              const i64 n = cost.shape(0);
              const Graph graph = checked_graph(indptr, neighbor, n);
              check_indices(order, n, "order");
              check_length(labels, n, "labels");
              nb::gil_scoped_release free;
              return greedy_hard(array(order), table(cost), array(labels), graph);
          },
          nb::arg("order"), nb::arg("cost"), as_is("labels"), nb::arg("indptr"), nb::arg("neighbor"),
          "Each group in turn takes its cheapest free cluster; returns -1, or the group that found none.");
    m.def("improve_hard",
          [](In1<i64> order, In2<double> cost, In1<i32> nearest, Out1<i32> labels, In1<u32> indptr,
             In1<u32> neighbor, i64 max_sweeps) {
              const i64 n = cost.shape(0), k = cost.shape(1);
              const Graph graph = checked_graph(indptr, neighbor, n);
              check_indices(order, n, "order");
              check_length(nearest, n, "nearest");
              check_length(labels, n, "labels");
              check_indices(labels, k, "labels");
              nb::gil_scoped_release free;
              improve_hard(array(order), table(cost), array(nearest), array(labels), graph, max_sweeps);
          },
          nb::arg("order"), nb::arg("cost"), nb::arg("nearest"), as_is("labels"), nb::arg("indptr"),
          nb::arg("neighbor"), nb::arg("max_sweeps"),
          "Move groups to cheaper clusters while no cannot-link breaks; also swap linked pairs.");
}

}  // namespace linkwise
