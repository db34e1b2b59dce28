// Links: adjacency lists, lengths, costs, and ICM of single rows. See linkwise/kmeans/solver.
#include "kmeans_links.h"

namespace linkwise {
namespace {

constexpr u16 many = std::numeric_limits<u16>::max();  // moved neighbors are counted up to here

// -------------------------------------------------------------------- lists and lengths

template <class X>
LINKWISE_CLONES void link_lengths(Table<const X> x, Table<const i64> pairs, Table<const double> metrics,
                                  i64 start, i64 stop, Table<double> out) {
    for (i64 e = start; e < stop; e++) {
        const X *a = x[pairs[e][0]], *b = x[pairs[e][1]];
        for (i64 g = 0; g < metrics.rows; g++) {
            const double *metric = metrics[g];
            double total = 0;
            for (i64 f = 0; f < x.columns; f++) {
                const double away = double(a[f]) - double(b[f]);
                total += away * away * metric[f];
            }
            out[e][g] = total;
        }
    }
}

template <class X>
LINKWISE_CLONES void add_squares(Table<const X> x, Table<const i64> pairs, Array<const i32> group,
                                 Array<const double> weight, Table<double> out) {
    for (i64 e = 0; e < pairs.rows; e++) {
        const double w = weight[e];
        if (w == 0) continue;
        const X *a = x[pairs[e][0]], *b = x[pairs[e][1]];
        double *__restrict to = out[group[e]];
        for (i64 f = 0; f < x.columns; f++) {
            const double away = double(a[f]) - double(b[f]);
            to[f] += w * away * away;
        }
    }
}

// Lower edges first; indptr comes as zeros.
template <class I>
void list_neighbors(Table<const I> ends, Array<u32> indptr, Array<u32> neighbor, Array<u32> edge) {
    for (i64 e = 0; e < ends.rows; e++) indptr[ends[e][0]]++, indptr[ends[e][1]]++;
    u32 total = 0;
    for (u32 &start : indptr) {
        const u32 number = start;
        start = total;
        total += number;
    }
    for (i64 e = 0; e < ends.rows; e++)
        for (int side = 0; side < 2; side++) {
            const u32 p = indptr[ends[e][side]]++;  // at last the start of the next list
            neighbor[p] = u32(ends[e][1 - side]);
            if (edge) edge[p] = u32(e);
        }
    for (i64 v = indptr.size - 1; v > 0; v--) indptr[v] = indptr[v - 1];
    indptr[0] = 0;
}

// No branch in this loop and in `rows_of_runs`: it could not be predicted.
i64 list_violated(Table<const i32> ends, Array<const bool> is_must, Array<const i32> labels, i64 start,
                  i64 stop, Array<u32> out) {
    i64 number = 0;
    for (i64 e = start; e < stop; e++) {
        const i32 a = labels[ends[e][0]], b = labels[ends[e][1]];
        out[start + number] = u32(e);
        number += ((a == b) != is_must[e]) & ((a >= 0) | (b >= 0));  // -1: no cluster
    }
    return number;
}

i64 rows_of_runs(Array<const i64> runs, i64 width, Array<const bool> wanted, Array<i64> out) {
    i64 number = 0;
    for (const i64 run : runs)
        for (i64 i = run * width; i < std::min(run * width + width, wanted.size); i++) {
            out[number] = i;
            number += wanted[i];
        }
    return number;
}

void signed_costs(Array<const u32> indptr, Array<const u32> link, i64 n_must, Table<const double> cost,
                  i64 start, i64 stop, Array<double> entries, Array<double> total, Array<double> dearest) {
    for (i64 i = start; i < stop; i++) {
        total[i] = dearest[i] = 0;
        for (i64 p = indptr[i]; p < i64(indptr[i + 1]); p++) {
            const double *here = cost[link[p]];
            if (entries) entries[p] = link[p] < n_must ? -here[0] : here[0];
            const double most = *std::max_element(here, here + cost.columns);
            total[i] += most;
            dearest[i] = std::max(dearest[i], most);
        }
    }
}

// -------------------------------------------------------------------- apart groups

void count_members(const CliqueLists &cliques, Array<const i32> labels, Table<i32> counts) {
    std::fill_n(counts.data, counts.rows * counts.columns, 0);
    for (i64 g = 0; g < counts.rows; g++)
        for (i64 q = cliques.starts[g]; q < cliques.starts[g + 1]; q++)
            if (const i32 label = labels[cliques.members[q]]; label >= 0) counts[g][label]++;
}

void own_clique_costs(const CliqueLists &cliques, Table<const i32> counts, Array<const i32> labels,
                      Array<double> out) {
    for (i64 i = 0; i < labels.size; i++) {
        out[i] = 0;
        for (i64 p = cliques.indptr[i]; p < cliques.indptr[i + 1]; p++) {
            const i64 g = cliques.group[p];
            out[i] += cliques.weight[g] * (counts[g][labels[i]] - 1);
        }
    }
}

// -------------------------------------------------------------------- ICM

// Whether row i might leave cluster a, which costs `gap` more than the cheapest other. Only
// must-links and violated links are measured: to leave costs at least the must-links that are kept,
// and saves at most the violated links, which a satisfied row has none of.
template <class X>
inline bool may_move(i64 i, i64 a, double gap, const LinkLists &lists, const Measure<X> &measure,
                     Array<const i32> labels, bool satisfied) {
    const i64 first = lists.first(i), middle = lists.cannot(i), last = lists.last(i);
    if (satisfied) {
        for (i64 p = first; p < middle && gap > 0; p++) gap += measure(lists, i, p, true);
        return gap > 0;
    }
    bool kept = true;
    for (i64 p = first; p < middle; p++) kept &= labels[lists.neighbor[p]] == a;
    for (i64 p = middle; p < last; p++) kept &= labels[lists.neighbor[p]] != a;
    if (kept && gap <= 0) return false;
    for (i64 p = first; p < middle; p++) {
        const i64 b = labels[lists.neighbor[p]];
        if (b < 0) continue;
        const double cost = measure(lists, i, p, true);
        gap += a == b ? cost : -cost;
    }
    for (i64 p = middle; p < last; p++)
        if (labels[lists.neighbor[p]] == a) gap += measure(lists, i, p, false);
    return gap > 0;
}

struct IcmState {
    Table<i32> counts;
    Array<double> dearest;
    Array<i32> labels;
    Array<double> edge;
    Array<u16> moves;
    Array<bool> satisfied;
};

// Each row in turn takes its cheapest cluster. A row sums the costs of its links only when its turn
// comes; between turns only the number of neighbors that moved is kept. A neighbor's move changes the
// difference of two clusters by at most twice the cost of the dearest link, which bounds `edge`, the
// most by which links made the present cluster dearer than another at the last visit.
template <class X>
LINKWISE_CLONES std::pair<i64, double> icm(Array<const i64> order, Array<const i64> place,
                                           Table<const double> distance, const LinkLists &lists,
                                           const Costs &costs, const Measure<X> *measure,
                                           const CliqueLists &cliques, const IcmState &s) {
    const i64 k = distance.columns;
    std::vector<double> penalties(k + 1);  // in front: neighbors without a cluster (-1)
    double *const penalty = penalties.data() + 1;
    const i32 *const labels = s.labels.data;
    const u32 *const neighbor = lists.neighbor.data;
    i64 n_moved = 0;
    double change = 0;
    for (const i64 i : order) {
        const i64 old = labels[i], first = lists.first(i), middle = lists.cannot(i), last = lists.last(i);
        const double *cost = distance[place[i]];
        const double mine = old >= 0 ? cost[old] : infinity;
        double other = infinity;
        for (i64 c = 0; c < k; c++) {
            penalty[c] = 0;
            other = c != old && cost[c] < other ? cost[c] : other;
        }
        // A neighbor that moves makes one cluster dearer and another cheaper by its link's cost.
        if (s.moves[i] < many) {
            s.edge[i] += 2.0 * s.dearest[i] * s.moves[i];
            s.moves[i] = 0;
            if (mine + s.edge[i] < other) continue;
        }
        if (s.satisfied[i] && mine <= other) {
            if (!measure) s.edge[i] = std::min(s.edge[i], 0.0);  // else `dearest` is not known
            continue;
        }
        if (measure && !measure->done[i]) {
            if (old >= 0 && !may_move(i, old, mine - other, lists, *measure, s.labels, s.satisfied[i])) {
                s.moves[i] = 0;
                continue;
            }
            s.dearest[i] = 0;
            for (i64 p = first; p < last; p++) {
                const double here = costs.each_entry[p] = (*measure)(lists, i, p, p < middle);
                s.dearest[i] = std::max(s.dearest[i], std::abs(here));
            }
            measure->done[i] = true;
        }
        if (costs.flat) {
            for (i64 p = first; p < middle; p++) penalty[labels[neighbor[p]]] += costs.flat[0];
            for (i64 p = middle; p < last; p++) penalty[labels[neighbor[p]]] += costs.flat[1];
        }
        if (costs.each_entry)
            for (i64 p = first; p < last; p++) penalty[labels[neighbor[p]]] += costs.each_entry[p];
        if (costs.by_cluster)
            for (i64 p = first; p < last; p++) {
                const i64 b = labels[neighbor[p]], number = costs.by_cluster.link[p];
                if (b < 0) continue;
                const double *link = costs.by_cluster.cost[number];
                if (!costs.by_cluster.is_must[number]) penalty[b] += link[b];
                else  // between two clusters it costs the mean of both
                    for (i64 c = 0; c < k; c++)
                        if (c != b) penalty[c] += 0.5 * (link[c] + link[b]);
            }
        if (cliques)
            for (i64 p = cliques.indptr[i]; p < cliques.indptr[i + 1]; p++) {
                const i64 g = cliques.group[p];
                for (i64 c = 0; c < k; c++) penalty[c] += cliques.weight[g] * s.counts[g][c];
                if (old >= 0) penalty[old] -= cliques.weight[g];  // the row itself
            }
        i64 best = std::max<i64>(old, 0), lowest = 0;
        double least = cost[best] + penalty[best], lower = infinity, second = infinity;
        for (i64 c = 0; c < k; c++) {
            const double here = penalty[c];
            if (cost[c] + here < least) least = cost[c] + here, best = c;
            second = std::min(second, std::max(lower, here));
            if (here < lower) lower = here, lowest = c;
        }
        s.edge[i] = penalty[best] - (lowest == best ? second : lower);
        s.moves[i] = 0;
        if (best == old) continue;
        s.labels[i] = i32(best);
        s.satisfied[i] = false;
        n_moved++;
        change += penalty[best] - penalty[std::max<i64>(old, 0)];
        for (i64 p = first; p < last; p++) {
            s.satisfied[neighbor[p]] = false;
            s.moves[neighbor[p]] += s.moves[neighbor[p]] < many;
        }
        if (!cliques) continue;
        for (i64 p = cliques.indptr[i]; p < cliques.indptr[i + 1]; p++) {
            const i64 g = cliques.group[p];
            s.counts[g][best]++;
            if (old >= 0) s.counts[g][old]--;
            for (i64 q = cliques.starts[g]; q < cliques.starts[g + 1]; q++) {
                const i64 v = cliques.members[q];
                if (v != i) s.moves[v] += s.moves[v] < many;
            }
        }
    }
    return {n_moved, change};
}

// -------------------------------------------------------------------- bindings

template <class X> void bind_lengths(nb::module_ &m) {
    m.def("link_lengths",
          [](In2<X> x, In2<i64> pairs, In2<double> metrics, i64 start, i64 stop, Out2<double> out) {
              const i64 n = pairs.shape(0);
              check_shape(pairs, n, 2, "pairs");
              check_range(start, stop, n);
              check_indices(pairs.data() + 2 * start, 2 * (stop - start), 0, x.shape(0), "pairs");
              check_shape(metrics, metrics.shape(0), x.shape(1), "metrics");
              check_shape(out, n, metrics.shape(0), "out");
              nb::gil_scoped_release free;
              link_lengths(table(x), table(pairs), table(metrics), start, stop, table(out));
          },
          as_is("X"), nb::arg("pairs"), nb::arg("metrics"), nb::arg("start"), nb::arg("stop"), as_is("out"),
          "Squared lengths of pairs start..stop of rows under diagonal metrics, (m, groups).");
    m.def("add_squares",
          [](In2<X> x, In2<i64> pairs, In1<i32> group, In1<double> weight, Out2<double> out) {
              const i64 n = pairs.shape(0);
              check_shape(pairs, n, 2, "pairs");
              check_indices(pairs, x.shape(0), "pairs");
              check_length(group, n, "group");
              check_indices(group, out.shape(0), "group");
              check_length(weight, n, "weight");
              check_shape(out, out.shape(0), x.shape(1), "out");
              nb::gil_scoped_release free;
              add_squares(table(x), table(pairs), array(group), array(weight), table(out));
          },
          as_is("X"), nb::arg("pairs"), nb::arg("group"), nb::arg("weight"), as_is("out"),
          "Add weighted squares of the differences of pairs of rows to their groups, (groups, d).");
}

template <class I> void bind_neighbors(nb::module_ &m) {
    m.def("list_neighbors",
          [](In2<I> ends, Out1<u32> indptr, Out1<u32> neighbor, Out1<u32> edge) {
              const i64 number = ends.shape(0);
              check(indptr.size() > 0, "indptr is empty");
              check_shape(ends, number, 2, "ends");
              check_indices(ends, i64(indptr.size()) - 1, "ends");
              check_indices(indptr, 1, "indptr");
              check_length(neighbor, 2 * number, "neighbor");
              check(2 * number <= i64(std::numeric_limits<u32>::max()), "there are too many links");
              if (edge.size()) check_length(edge, 2 * number, "edge");
              nb::gil_scoped_release free;
              list_neighbors(table(ends), array(indptr), array(neighbor), array(edge));
          },
          as_is("ends"), as_is("indptr"), as_is("neighbor"), as_is("edge"),
          "Adjacency lists: the neighbors of each vertex and the edges to them, lower edges first.");
}

}  // namespace

void bind_kmeans_links(nb::module_ &m) {
    bind_lengths<double>(m);
    bind_lengths<float>(m);
    bind_neighbors<i32>(m);
    bind_neighbors<i64>(m);
    m.def("list_violated",
          [](In2<i32> ends, In1<bool> is_must, In1<i32> labels, i64 start, i64 stop, Out1<u32> out) {
              const i64 number = ends.shape(0);
              check_range(start, stop, number);
              check_shape(ends, number, 2, "ends");
              check_indices(ends.data() + 2 * start, 2 * (stop - start), 0, labels.size(), "ends");
              check_length(is_must, number, "is_must");
              check_length(out, number, "out");
              nb::gil_scoped_release free;
              return list_violated(table(ends), array(is_must), array(labels), start, stop, array(out));
          },
          nb::arg("ends"), nb::arg("is_must"), nb::arg("labels"), nb::arg("start"), nb::arg("stop"), as_is("out"),
          "List the violated ones of links start..stop, from out[start] on; returns how many.");
    m.def("signed_costs",
          [](In1<u32> indptr, In1<u32> link, i64 n_must, In2<double> cost, i64 start, i64 stop,
             Out1<double> entries, Out1<double> total, Out1<double> dearest) {
              const i64 n = total.size();
              check_starts(indptr, n, link.size(), "indptr");
              check_range(start, stop, n);
              check(cost.shape(1) > 0, "cost has no columns");
              const i64 first = indptr.data()[start], last = indptr.data()[stop];
              check_indices(link.data() + first, last - first, 0, cost.shape(0), "link");
              check_length(dearest, n, "dearest");
              if (entries.size()) check_length(entries, link.size(), "signed");
              nb::gil_scoped_release free;
              signed_costs(array(indptr), array(link), n_must, table(cost), start, stop, array(entries), array(total),
                           array(dearest));
          },
          nb::arg("indptr"), nb::arg("link"), nb::arg("n_must"), nb::arg("cost"), nb::arg("start"), nb::arg("stop"),
          as_is("signed"), as_is("total"), as_is("dearest"),
          "Cost of being together at each entry of the lists: negative for must-links.");
    m.def("rows_of_runs",
          [](In1<i64> runs, i64 width, In1<bool> wanted, Out1<i64> out) {
              const i64 n = wanted.size();
              check(width > 0, "width must be positive");
              check_indices(runs, (n + width - 1) / width, "runs");
              check_length(out, n, "out");
              std::vector<char> seen((n + width - 1) / width);  // each once, or `out` would overflow
              for (std::size_t t = 0; t < runs.size(); t++)
                  check(!std::exchange(seen[runs.data()[t]], 1), "runs repeat");
              nb::gil_scoped_release free;
              return rows_of_runs(array(runs), width, array(wanted), array(out));
          },
          nb::arg("runs"), nb::arg("width"), nb::arg("wanted"), as_is("out"),
          "List the wanted rows, run by run (a run is `width` consecutive rows); returns how many.");
    m.def("count_members",
          [](nb::tuple cliques, In1<i32> labels, Out2<i32> counts) {
              const GivenCliques given(cliques, labels.size());
              check_shape(counts, given.size(), counts.shape(1), "counts");
              check_indices(labels, counts.shape(1), "labels", -1);
              nb::gil_scoped_release free;
              count_members(given.cliques(), array(labels), table(counts));
          },
          nb::arg("cliques"), nb::arg("labels"), as_is("counts"), "Members per cluster of each apart group.");
    m.def("own_clique_costs",
          [](nb::tuple cliques, In2<i32> counts, In1<i32> labels, Out1<double> out) {
              const GivenCliques given(cliques, labels.size());
              check_shape(counts, given.size(), counts.shape(1), "counts");
              check_indices(labels, counts.shape(1), "labels");
              check_length(out, labels.size(), "out");
              nb::gil_scoped_release free;
              own_clique_costs(given.cliques(), table(counts), array(labels), array(out));
          },
          nb::arg("cliques"), nb::arg("counts"), nb::arg("labels"), as_is("out"),
          "What apart groups cost each row where it is.");
    m.def("icm",
          [](In1<i64> order, In1<i64> place, In2<double> distance, nb::tuple lists, nb::object flat,
             nb::object entries, nb::object each, nb::object measure, nb::object cliques, Out2<i32> counts,
             Out1<double> dearest, Out1<i32> labels, Out1<double> edge, Out1<u16> moves, Out1<bool> satisfied) {
              const GivenLists known(lists);
              const i64 n = known.rows(), k = distance.shape(1);
              const GivenCosts costs(flat, entries, each, known.entries(), k);
              const GivenCliques groups(cliques, n);
              check(k > 0, "there are no clusters");
              check(measure.is_none() || costs.each_entry, "a measure needs signed costs");
              if (groups.size()) check_shape(counts, groups.size(), k, "counts");
              check_length(place, n, "place");
              check_indices(order, n, "order");
              for (std::size_t t = 0; t < order.size(); t++)
                  check_indices(place.data() + order.data()[t], 1, 0, distance.shape(0), "place");
              check_length(dearest, n, "dearest");
              check_length(labels, n, "labels");
              check_indices(labels, k, "labels", -1);
              check_length(edge, n, "edge");
              check_length(moves, n, "moves");
              check_length(satisfied, n, "satisfied");
              const IcmState state{table(counts), array(dearest), array(labels), array(edge), array(moves), array(satisfied)};
              return with_measure(measure, n, known.entries(), [&](const auto *how) {
                  nb::gil_scoped_release free;
                  const auto found = icm(array(order), array(place), table(distance), known.lists(), costs.costs(), how,
                                         groups.cliques(), state);
                  return std::tuple(found.first, found.second);
              });
          },
          nb::arg("order"), nb::arg("place"), nb::arg("distance"), nb::arg("lists"), nb::arg("flat").none(),
          nb::arg("signed").none(), nb::arg("each").none(), nb::arg("measure").none(), nb::arg("cliques").none(),
          as_is("counts"), as_is("dearest"), as_is("labels"), as_is("edge"), as_is("moves"), as_is("satisfied"),
          "Each row in turn takes its cheapest cluster; returns how many moved and the change of link costs.");
}

}  // namespace linkwise
