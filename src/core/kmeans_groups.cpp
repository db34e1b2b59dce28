// ICM of must-link components, which take a cluster as a whole. See linkwise/kmeans/solver.
#include "kmeans_links.h"

namespace linkwise {
namespace {

constexpr double eps = 1e-10;  // relative rounding error of the costs of a component

struct Groups {
    Array<const i64> starts, members;
    Array<const i32> group;
    Array<const i64> of(i64 g) const { return {&members[starts[g]], starts[g + 1] - starts[g]}; }
};

struct GroupState {
    Table<i32> counts;
    Array<const double> dear;
    Array<double> paid;
    Array<i32> labels;
    Array<double> edge;
    Array<bool> satisfied;
};

// What the links of a component cost now, less those that cost it everywhere.
template <class X>
double paid_now(i64 g, const Groups &groups, const LinkLists &lists, const Measure<X> &measure,
                Array<const i32> labels) {
    double total = 0;
    for (const i64 i : groups.of(g))
        for (i64 p = lists.first(i); p < lists.last(i); p++) {
            const i64 v = lists.neighbor[p];
            const bool together = labels[v] == labels[i];
            if (groups.group[v] != g) {
                if (together) total += measure(lists, i, p, false);
            } else if (!together) {  // met from both ends; a cannot-link inside costs it everywhere
                total -= 0.5 * measure(lists, i, p, p < lists.cannot(i));
            }
        }
    return total;
}

// Adds what cannot-links of a component to rows in cluster c cost, up to a limit.
template <class X>
double meeting(i64 g, i64 c, const Groups &groups, const LinkLists &lists, const Measure<X> &measure,
               Array<const i32> labels, double total, double limit) {
    for (const i64 i : groups.of(g)) {
        for (i64 p = lists.cannot(i); p < lists.last(i); p++) {
            const i64 v = lists.neighbor[p];
            if (labels[v] == c && groups.group[v] != g) total += measure(lists, i, p, false);
        }
        if (total > limit) break;
    }
    return total;
}

// The cheapest cluster of a component, whose links are measured for likely ones only: their costs
// are added to `total` as far as they matter.
template <class X>
i64 cheapest_meeting(i64 g, const Groups &groups, const LinkLists &lists, const Measure<X> &measure,
                     Array<const i32> labels, std::vector<double> &total) {
    std::vector<char> known(total.size(), 1);  // unless there is a link into the cluster
    for (const i64 i : groups.of(g))
        for (i64 p = lists.cannot(i); p < lists.last(i); p++) {
            const i64 v = lists.neighbor[p];
            if (labels[v] >= 0 && groups.group[v] != g) known[labels[v]] = 0;
        }
    double limit = infinity;  // the least that a cluster costs with its links
    for (std::size_t c = 0; c < total.size(); c++)
        if (known[c]) limit = std::min(limit, total[c]);
    for (;;) {
        const i64 best = std::min_element(total.begin(), total.end()) - total.begin();
        if (known[best]) return best;
        total[best] = meeting(g, best, groups, lists, measure, labels, total[best], limit);
        known[best] = 1;
        limit = std::min(limit, total[best]);
    }
}

// One sweep in which components take their cheapest cluster. Single rows cannot leave a component
// without violating links; together they can. A component without a cluster takes one in any case.
// Costs are summed over neighbors from scratch: in running sums the rounding error of heavy links
// inside a group would exceed light ones outside.
template <class X>
i64 icm_groups(Array<const i64> order, const Groups &groups, Table<const double> distance,
               const LinkLists &lists, const Costs &costs, const Measure<X> *measure,
               const CliqueLists &cliques, bool clashing, const GroupState &s) {
    const i64 k = distance.columns;
    const i32 *const labels = s.labels.data;
    std::vector<double> total(k), pulls(k + 1);
    double *const pull = pulls.data() + 1;  // in front: neighbors without a cluster
    i64 n_moved = 0;
    for (const i64 g : order) {
        const auto members = groups.of(g);
        const bool is_new = labels[members[0]] < 0;
        std::fill(total.begin(), total.end(), 0.0);
        std::fill(pulls.begin(), pulls.end(), 0.0);
        double now = 0, together = 0, reach = 0;  // the last is the most that links can cost now
        for (const i64 i : members) {
            for (i64 c = 0; c < k; c++) total[c] += distance[i][c];
            if (is_new) continue;
            now += distance[i][labels[i]];
            reach += s.dear[i];
        }
        const double least = *std::min_element(total.begin(), total.end());
        if (!is_new && !(least < now + s.paid[g] - eps * std::abs(now))) continue;
        if (measure && !is_new) reach = paid_now(g, groups, lists, *measure, s.labels);
        if (!is_new && !(least < now + reach)) continue;
        for (const i64 i : members) {
            if (measure) break;
            const i64 a = labels[i];
            for (i64 p = cliques ? cliques.indptr[i] : 0; cliques && p < cliques.indptr[i + 1]; p++) {
                const i64 which = cliques.group[p];
                const double apart = cliques.weight[which];
                for (i64 c = 0; c < k; c++) pull[c] += apart * s.counts[which][c];
                if (is_new) continue;
                pull[a] -= apart;
                now += apart * (s.counts[which][a] - 1);
            }
            const i64 first = lists.first(i), middle = lists.cannot(i), last = lists.last(i);
            if (costs.flat && (is_new || !clashing)) {  // must-links are inside, cannot-links outside
                i64 kept = 0, broken = 0;
                for (i64 p = first; p < middle; p++) kept += labels[lists.neighbor[p]] == a;
                for (i64 p = middle; p < last; p++) {
                    pull[labels[lists.neighbor[p]]] += costs.flat[1];
                    broken += labels[lists.neighbor[p]] == a;
                }
                together += 0.5 * costs.flat[0] * double(middle - first);
                now += 0.5 * costs.flat[0] * double(kept) + costs.flat[1] * double(broken);
                continue;
            }
            for (i64 p = first; p < last; p++) {
                const i64 v = lists.neighbor[p], b = labels[v];
                if (b < 0) continue;
                const bool inside = groups.group[v] == g;
                const double share = inside ? 0.5 : 1.0;  // links inside are met from both ends
                if (!costs.by_cluster) {
                    double reward = 0;
                    if (costs.flat) reward = costs.flat[p < middle ? 0 : 1];
                    if (costs.each_entry) reward = costs.each_entry[p];
                    (inside ? together : pull[b]) += share * reward;
                    if (a == b) now += share * reward;  // the same terms for the present labels
                    continue;
                }
                const i64 number = costs.by_cluster.link[p];
                const double *cost = costs.by_cluster.cost[number];
                const bool is_must = costs.by_cluster.is_must[number];
                if (!inside) pull[b] += cost[b];  // must-links are inside
                else if (!is_must)                // contradictory: broken wherever the group goes
                    for (i64 c = 0; c < k; c++) pull[c] += 0.5 * cost[c];
                if (a >= 0 && (a == b) != is_must) now += share * 0.5 * (cost[a] + cost[b]);
            }
        }
        for (i64 c = 0; c < k; c++) total[c] += pull[c];
        i64 best = std::min_element(total.begin(), total.end()) - total.begin();
        if (measure) {
            best = cheapest_meeting(g, groups, lists, *measure, s.labels, total);
            now += reach;
        }
        const double after = total[best] + together;
        if (!is_new && !(after < now - eps * (std::abs(now) + std::abs(after)))) continue;
        for (const i64 i : members) {
            n_moved += labels[i] != best;
            for (i64 p = cliques ? cliques.indptr[i] : 0; cliques && p < cliques.indptr[i + 1]; p++) {
                const i64 which = cliques.group[p];
                s.counts[which][best]++;
                if (is_new) continue;  // no edge is known yet
                s.counts[which][labels[i]]--;
                for (i64 q = cliques.starts[which]; q < cliques.starts[which + 1]; q++)
                    s.edge[cliques.members[q]] = infinity;
            }
            s.labels[i] = i32(best);
            s.edge[i] = infinity, s.satisfied[i] = false;
            for (i64 p = lists.first(i); !is_new && p < lists.last(i); p++) {
                const i64 v = lists.neighbor[p];
                s.edge[v] = infinity, s.satisfied[v] = false, s.paid[groups.group[v]] = infinity;
            }
        }
    }
    return n_moved;
}

}  // namespace

void bind_kmeans_groups(nb::module_ &m) {
    m.def("icm_groups",
          [](In1<i64> order, nb::tuple groups, In2<double> distance, nb::tuple lists, nb::object flat,
             nb::object entries, nb::object each, nb::object measure, nb::object cliques, Out2<i32> counts,
             In1<double> dear, Out1<double> paid, bool clashing, Out1<i32> labels, Out1<double> edge,
             Out1<bool> satisfied) {
              const GivenLists known(lists);
              const i64 n = known.rows(), k = distance.shape(1), number = paid.size();
              const GivenCosts costs(flat, entries, each, known.entries(), k);
              const GivenCliques apart(cliques, n);
              const auto starts = item<In1<i64>>(groups, 0), members = item<In1<i64>>(groups, 1);
              const auto group = item<In1<i32>>(groups, 2);
              check(k > 0, "there are no clusters");
              if (apart.size()) check_shape(counts, apart.size(), k, "counts");
              check_starts(starts, number, members.size(), "starts");
              check_indices(members, n, "members");
              check_length(group, n, "group");
              check_indices(group, number, "group");
              check_indices(order, number, "order");
              check_shape(distance, n, k, "distance");
              check_length(dear, n, "dear");
              check_length(labels, n, "labels");
              check_indices(labels, k, "labels", -1);
              for (i64 g = 0; g < number; g++) {
                  const i64 first = starts.data()[g], stop = starts.data()[g + 1];
                  check(first < stop, "a group is empty");
                  i64 assigned = 0;
                  for (i64 q = first; q < stop; q++) assigned += labels.data()[members.data()[q]] >= 0;
                  check(assigned == 0 || assigned == stop - first, "part of a group has no cluster");
              }
              check_length(edge, n, "edge");
              check_length(satisfied, n, "satisfied");
              const GroupState state{table(counts), array(dear), array(paid), array(labels), array(edge), array(satisfied)};
              return with_measure(measure, n, known.entries(), [&](const auto *how) {
                  nb::gil_scoped_release free;
                  return icm_groups(array(order), Groups{array(starts), array(members), array(group)}, table(distance),
                                    known.lists(), costs.costs(), how, apart.cliques(), clashing, state);
              });
          },
          nb::arg("order"), nb::arg("groups"), nb::arg("distance"), nb::arg("lists"), nb::arg("flat").none(),
          nb::arg("signed").none(), nb::arg("each").none(), nb::arg("measure").none(), nb::arg("cliques").none(),
          as_is("counts"), nb::arg("dear"), as_is("paid"), nb::arg("clashing"), as_is("labels"), as_is("edge"),
          as_is("satisfied"), "Must-link components in turn take their cheapest cluster; returns how many rows moved.");
}

}  // namespace linkwise
