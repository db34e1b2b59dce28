// Limits on cluster sizes: prices, shortest paths between clusters, repairs. Units are rows, or
// groups of rows that stay together. See linkwise/kmeans/solver/_transport.py.
#include "kmeans_links.h"

namespace linkwise {
namespace {

// Cheapest cluster of each unit if a cluster costs its price per unit of size; returns the sum of
// the lowest costs, prices included.
double priced_labels(Table<const double> cost, Array<const double> size, Array<const double> price,
                     Array<i32> labels, Array<double> load) {
    std::fill(load.begin(), load.end(), 0.0);
    double total = 0;
    for (i64 u = 0; u < cost.rows; u++) {
        i64 best = 0;
        double least = infinity;
        for (i64 c = 0; c < cost.columns; c++) {
            const double here = cost[u][c] + price[c] * size[u];
            if (here < least) least = here, best = c;
        }
        labels[u] = i32(best);
        load[best] += size[u];
        total += least;
    }
    return total;
}

// What units cost each other: `cost` if together, and the weights of apart groups.
struct UnitLinks {
    Array<const i64> indptr, neighbor;
    Array<const double> cost;
    CliqueLists groups;

    // visit(v, cost) for everything that unit u is linked to.
    template <class Visit> void each(i64 u, Visit visit) const {
        for (i64 p = indptr[u]; p < indptr[u + 1]; p++) visit(neighbor[p], cost[p]);
        for (i64 p = groups.indptr[u]; p < groups.indptr[u + 1]; p++) {
            const i64 g = groups.group[p];
            for (i64 q = groups.starts[g]; q < groups.starts[g + 1]; q++)
                if (groups.members[q] != u) visit(groups.members[q], groups.weight[g]);
        }
    }
};

// -------------------------------------------------------------------- units of one size

// The transportation problem by successive shortest paths. Nodes are the clusters and a pool that
// every cluster sends its units to, between `low` and `high` of them at no cost; the length of an
// arc between clusters is the least extra cost of a unit that moves. If labels are the cheapest at
// the prices -potential (relative to the pool's), the result is the optimum. With links it is within
// the limits only: costs of neighbors change as units move.
class Shipping {
  public:
    Shipping(Table<double> cost, Array<i32> labels, const UnitLinks &links)
        : cost(cost), labels(labels), links(links), k(cost.columns), head(k, -1), after(cost.rows, -1),
          before(cost.rows, -1), arcs(k * k) {
        for (i64 u = 0; u < cost.rows; u++) enter(u, labels[u]);
    }

    // Whether the limits can be met.
    bool run(Array<const i64> low, Array<const i64> most, Array<double> potential) {
        std::vector<i64> sent(k), excess(k + 1), high(k);
        for (i64 c = 0; c < k; c++) high[c] = std::min(most[c], std::max(cost.rows, low[c]));
        for (i64 u = 0; u < cost.rows; u++) excess[labels[u]]++;
        excess[k] = -cost.rows;
        // A price above 0 asks for a full cluster, one below 0 for one at its minimum: so no arc has
        // a negative reduced cost.
        for (i64 c = 0; c < k; c++) {
            sent[c] = std::min(std::max(excess[c], low[c]), high[c]);
            if (potential[c] < potential[k]) sent[c] = high[c];
            else if (potential[c] > potential[k]) sent[c] = low[c];
            excess[c] -= sent[c];
            excess[k] += sent[c];
        }
        std::vector<double> distance(k + 1);
        std::vector<i64> parent(k + 1);
        std::vector<char> done(k + 1), listed(k);
        auto length = [&](i64 v, i64 c) {
            if (v == k) return sent[c] > low[c] ? 0.0 : infinity;
            if (c == k) return sent[v] < high[v] ? 0.0 : infinity;
            return arc(v, c).gain;
        };
        for (i64 source = 0; source <= k; source++)
            while (excess[source] > 0) {
                std::fill(distance.begin(), distance.end(), infinity);
                std::fill(done.begin(), done.end(), 0);
                distance[source] = 0;
                i64 v;
                for (;;) {
                    v = -1;
                    for (i64 c = 0; c <= k; c++)
                        if (!done[c] && distance[c] < infinity && (v < 0 || distance[c] < distance[v])) v = c;
                    if (v < 0) return false;
                    done[v] = 1;
                    if (excess[v] < 0) break;
                    if (v < k && !std::exchange(listed[v], 1))
                        for (i64 c = 0; c < k; c++)
                            if (c != v) scan(v, c);
                    for (i64 c = 0; c <= k; c++) {
                        if (done[c]) continue;
                        // Not negative but for rounding, and for links that moves have changed.
                        const double to = distance[v] + std::max(0.0, length(v, c) + potential[v] - potential[c]);
                        if (to < distance[c]) distance[c] = to, parent[c] = v;
                    }
                }
                const i64 target = v;
                for (i64 c = 0; c <= k; c++) potential[c] += std::min(distance[c], distance[target]);
                excess[source]--;
                excess[target]++;
                for (i64 b = target; b != source; b = parent[b]) {
                    const i64 a = parent[b];
                    if (a == k) sent[b]--;
                    else if (b == k) sent[a]++;
                    // An earlier move of this path may have taken the unit or changed its costs.
                    else if (const i64 u = arc(a, b).who; u >= 0 && labels[u] == a) transfer(u, b);
                }
            }
        return true;
    }

  private:
    static constexpr std::size_t room = 32;  // candidates that are kept per pair of clusters

    // The cheapest unit to move from one cluster to another, and the next candidates; units that are
    // not in the pool cost at least `bound`.
    struct Arc {
        double gain = infinity, bound = -infinity;
        i64 who = -1;
        std::vector<i64> pool;
    };

    Table<double> cost;
    Array<i32> labels;
    UnitLinks links;
    i64 k;
    std::vector<i64> head, after, before;  // the units of each cluster as linked lists
    std::vector<Arc> arcs;

    Arc &arc(i64 a, i64 c) { return arcs[a * k + c]; }
    double price(i64 u, i64 a, i64 c) const { return cost[u][c] - cost[u][a]; }

    void enter(i64 u, i64 c) {
        before[u] = -1;
        after[u] = head[c];
        if (head[c] >= 0) before[head[c]] = u;
        head[c] = u;
    }

    void transfer(i64 u, i64 b) {
        const i64 a = labels[u];
        (before[u] >= 0 ? after[before[u]] : head[a]) = after[u];
        if (after[u] >= 0) before[after[u]] = before[u];
        enter(u, b);
        labels[u] = i32(b);
        for (i64 c = 0; c < k; c++) {
            if (c != a && arc(a, c).who == u) choose(a, c);
            if (c != b) offer(u, b, c);
        }
        links.each(u, [&](i64 v, double paid) {
            cost[v][a] -= paid;
            cost[v][b] += paid;
            const i64 own = labels[v];
            for (i64 c = 0; c < k; c++) {
                if (c == own) continue;
                if (arc(own, c).who == v) choose(own, c);
                else offer(v, own, c);
            }
        });
    }

    // Lists the units of cluster a that are the cheapest to move to c.
    void scan(i64 a, i64 c) {
        Arc &at = arc(a, c);
        at = Arc{infinity, infinity, -1, std::move(at.pool)};
        at.pool.clear();
        std::size_t worst = 0;
        for (i64 u = head[a]; u >= 0; u = after[u]) {
            const double now = price(u, a, c);
            if (now < at.gain) at.gain = now, at.who = u;
            if (at.pool.size() < room) at.pool.push_back(u);
            else if (now < at.bound) at.pool[worst] = u;
            else continue;
            if (at.pool.size() < room) continue;
            at.bound = -infinity;
            for (std::size_t q = 0; q < room; q++)
                if (const double dear = price(at.pool[q], a, c); dear > at.bound) at.bound = dear, worst = q;
        }
    }

    // The cheapest unit of the pool; if others may be cheaper, lists anew.
    void choose(i64 a, i64 c) {
        Arc &at = arc(a, c);
        at.gain = infinity, at.who = -1;
        std::erase_if(at.pool, [&](i64 u) { return labels[u] != a; });
        for (const i64 u : at.pool)
            if (price(u, a, c) < at.gain) at.gain = price(u, a, c), at.who = u;
        if (at.gain > at.bound || (at.pool.empty() && at.bound < infinity)) scan(a, c);
    }

    // Lists a unit of cluster a whose cost in c may be among the lowest now.
    void offer(i64 u, i64 a, i64 c) {
        Arc &at = arc(a, c);
        const double now = price(u, a, c);
        if (now > at.bound) return;
        if (at.pool.size() < room) {
            at.pool.push_back(u);
        } else {  // in the place of one that left, or of the dearest
            double dearest = -infinity;
            std::size_t place = 0;
            for (std::size_t q = 0; q < room; q++) {
                const i64 v = at.pool[q];
                const double here = labels[v] == a ? price(v, a, c) : infinity;
                if (here > dearest) dearest = here, place = q;
            }
            if (dearest < infinity) at.bound = std::min(at.bound, std::max(dearest, now));
            if (now >= dearest) return;
            at.pool[place] = u;
        }
        if (now < at.gain) at.gain = now, at.who = u;
    }
};

// -------------------------------------------------------------------- units of different sizes

// Repairs sizes by the moves and swaps that cost least per unit of size, then improves.
class Settling {
  public:
    Settling(Table<double> cost, Array<const double> size, Array<const double> low, Array<const double> high,
             Array<i32> labels, const UnitLinks &links)
        : cost(cost), size(size), low(low), high(high), labels(labels), links(links), n(cost.rows),
          k(cost.columns), load(k) {
        double scale = 0;
        for (i64 u = 0; u < n; u++) load[labels[u]] += size[u], scale += size[u];
        tiny = 1e-9 * scale / double(std::max<i64>(n, 1));  // rounding of sums of weights
    }

    // What is left outside the limits after at most `most` moves.
    double run(i64 most) {
        double left = 0;
        for (i64 round = 0; round < most; round++) {
            left = 0;
            for (i64 c = 0; c < k; c++) left += outside(load[c], c);
            if (left <= tiny) break;
            if (!move_one() && !swap_two()) return left;
        }
        if (left > tiny) return left;
        improve();
        return 0;
    }

  private:
    static constexpr i64 tried = 64;  // partners of a swap

    Table<double> cost;
    Array<const double> size, low, high;
    Array<i32> labels;
    UnitLinks links;
    i64 n, k;
    std::vector<double> load;
    double tiny;

    double outside(double load, i64 c) const { return std::max(0.0, load - high[c]) + std::max(0.0, low[c] - load); }

    // By how much sizes get nearer to their limits if `moved` goes from a to b.
    double relief(i64 a, i64 b, double moved) const {
        return outside(load[a], a) + outside(load[b], b) - outside(load[a] - moved, a) - outside(load[b] + moved, b);
    }

    void move(i64 u, i64 b) {
        const i64 a = labels[u];
        labels[u] = i32(b);
        load[a] -= size[u];
        load[b] += size[u];
        links.each(u, [&](i64 v, double paid) { cost[v][a] -= paid, cost[v][b] += paid; });
    }

    bool move_one() {
        double best = infinity;
        i64 unit = -1, to = -1;
        for (i64 u = 0; u < n; u++)
            for (i64 a = labels[u], b = 0; b < k; b++) {
                if (b == a) continue;
                const double less = relief(a, b, size[u]);
                if (less <= tiny) continue;
                const double price = (cost[u][b] - cost[u][a]) / less;
                if (price < best) best = price, unit = u, to = b;
            }
        if (unit >= 0) move(unit, to);
        return unit >= 0;
    }

    bool swap_two() {
        double best = infinity;
        i64 unit = -1, other = -1;
        const i64 step = std::max<i64>(1, n / tried);
        for (i64 u = 0; u < n; u++) {
            const i64 a = labels[u];
            if (outside(load[a], a) <= tiny) continue;
            for (i64 v = u % step; v < n; v += step) {
                const i64 b = labels[v];
                if (b == a) continue;
                const double less = relief(a, b, size[u] - size[v]);
                if (less <= tiny) continue;
                const double price = (cost[u][b] - cost[u][a] + cost[v][a] - cost[v][b]) / less;
                if (price < best) best = price, unit = u, other = v;
            }
        }
        if (unit < 0) return false;
        const i64 a = labels[unit], b = labels[other];
        move(unit, b);
        move(other, a);
        return true;
    }

    // Units move to cheaper clusters as long as the limits hold.
    void improve() {
        bool moved = true;
        for (int sweep = 0; moved && sweep < 10; sweep++) {
            moved = false;
            for (i64 u = 0; u < n; u++) {
                const i64 a = labels[u];
                i64 best = a;
                if (load[a] - size[u] < low[a] - tiny) continue;
                for (i64 b = 0; b < k; b++)
                    if (b != a && load[b] + size[u] <= high[b] + tiny &&
                        cost[u][b] < cost[u][best] - 1e-12 * std::abs(cost[u][best]))
                        best = b;
                if (best == a) continue;
                move(u, best);
                moved = true;
            }
        }
    }
};

// -------------------------------------------------------------------- costs of links

// What links and apart groups cost each constrained row in each cluster, beside constants.
void link_costs(const LinkLists &lists, const Costs &costs, const CliqueLists &cliques,
                Table<const i32> counts, Array<const i32> labels, Table<double> out) {
    const i64 k = out.columns;
    std::fill_n(out.data, out.rows * k, 0.0);
    for (i64 i = 0; i < out.rows; i++) {
        double *to = out[i];
        for (i64 p = lists.first(i); p < lists.last(i); p++) {
            const i64 b = labels[lists.neighbor[p]];
            if (b < 0) continue;
            if (costs.flat) to[b] += costs.flat[p < lists.cannot(i) ? 0 : 1];
            if (costs.each_entry) to[b] += costs.each_entry[p];
            if (!costs.by_cluster) continue;
            const double *cost = costs.by_cluster.cost[costs.by_cluster.link[p]];
            if (!costs.by_cluster.is_must[costs.by_cluster.link[p]]) to[b] += cost[b];
            else
                for (i64 c = 0; c < k; c++)
                    if (c != b) to[c] += 0.5 * (cost[c] + cost[b]);
        }
        for (i64 p = cliques ? cliques.indptr[i] : 0; cliques && p < cliques.indptr[i + 1]; p++) {
            const i64 g = cliques.group[p];
            for (i64 c = 0; c < k; c++) to[c] += cliques.weight[g] * counts[g][c];
            if (labels[i] >= 0) to[labels[i]] -= cliques.weight[g];
        }
    }
}

struct GivenUnitLinks {
    In1<i64> indptr, neighbor, in_groups, group, starts, members;
    In1<double> cost, weight;
    GivenUnitLinks(nb::handle given, i64 n)
        : indptr(item<In1<i64>>(given, 0)), neighbor(item<In1<i64>>(given, 1)), in_groups(item<In1<i64>>(given, 3)),
          group(item<In1<i64>>(given, 4)), starts(item<In1<i64>>(given, 5)), members(item<In1<i64>>(given, 6)),
          cost(item<In1<double>>(given, 2)), weight(item<In1<double>>(given, 7)) {
        check_starts(indptr, n, neighbor.size(), "indptr");
        check_indices(neighbor, n, "neighbor");
        check_length(cost, neighbor.size(), "signed");
        check_starts(in_groups, n, group.size(), "in_groups");
        check_indices(group, weight.size(), "group");
        check_starts(starts, weight.size(), members.size(), "starts");
        check_indices(members, n, "members");
    }
    UnitLinks links() const {
        return {array(indptr), array(neighbor), array(cost),
                {array(in_groups), array(group), array(starts), array(members), array(weight)}};
    }
};

template <class L> void check_units(const Out2<double> &cost, const L &low, const L &high, const Out1<i32> &labels) {
    const i64 k = cost.shape(1);
    check_length(low, k, "low");
    check_length(high, k, "high");
    check_length(labels, cost.shape(0), "labels");
    check_indices(labels, k, "labels");
}

}  // namespace

void bind_kmeans_flow(nb::module_ &m) {
    m.def("priced_labels",
          [](In2<double> cost, In1<double> size, In1<double> price, Out1<i32> labels, Out1<double> load) {
              const i64 n = cost.shape(0), k = cost.shape(1);
              check(k > 0, "there are no clusters");
              check_length(size, n, "size");
              check_length(price, k, "price");
              check_length(labels, n, "labels");
              check_length(load, k, "load");
              nb::gil_scoped_release free;
              return priced_labels(table(cost), array(size), array(price), array(labels), array(load));
          },
          nb::arg("cost"), nb::arg("size"), nb::arg("price"), as_is("labels"), as_is("load"),
          "Cheapest cluster of each unit at prices per unit of size; returns the total, prices included.");
    m.def("ship",
          [](Out2<double> cost, Out1<i32> labels, In1<i64> low, In1<i64> high, Out1<double> potential, nb::tuple links) {
              const GivenUnitLinks given(links, cost.shape(0));
              check_units(cost, low, high, labels);
              check_length(potential, cost.shape(1) + 1, "potential");
              nb::gil_scoped_release free;
              return Shipping(table(cost), array(labels), given.links()).run(array(low), array(high), array(potential));
          },
          as_is("cost"), as_is("labels"), nb::arg("low"), nb::arg("high"), as_is("potential"), nb::arg("links"),
          "Move units along cheapest paths between clusters until sizes are within limits; whether that can be.");
    m.def("settle",
          [](Out2<double> cost, In1<double> size, In1<double> low, In1<double> high, Out1<i32> labels, nb::tuple links,
             i64 most) {
              const GivenUnitLinks given(links, cost.shape(0));
              check_units(cost, low, high, labels);
              check_length(size, cost.shape(0), "size");
              nb::gil_scoped_release free;
              return Settling(table(cost), array(size), array(low), array(high), array(labels), given.links()).run(most);
          },
          as_is("cost"), nb::arg("size"), nb::arg("low"), nb::arg("high"), as_is("labels"), nb::arg("links"),
          nb::arg("most"), "Repair sizes of units of different size by moves and swaps; returns what is left outside.");
    m.def("link_costs",
          [](nb::tuple lists, nb::object flat, nb::object entries, nb::object each, nb::tuple cliques, In2<i32> counts,
             In1<i32> labels, Out2<double> out) {
              const GivenLists known(lists);
              const i64 n = known.rows(), k = out.shape(1);
              const GivenCosts costs(flat, entries, each, known.entries(), k);
              const GivenCliques groups(cliques, n);
              check_shape(out, n, k, "out");
              check_shape(counts, groups.size(), k, "counts");
              check_length(labels, n, "labels");
              check_indices(labels, k, "labels", -1);
              nb::gil_scoped_release free;
              link_costs(known.lists(), costs.costs(), groups.cliques(), table(counts), array(labels), table(out));
          },
          nb::arg("lists"), nb::arg("flat").none(), nb::arg("signed").none(), nb::arg("each").none(),
          nb::arg("cliques"), nb::arg("counts"), nb::arg("labels"), as_is("out"),
          "What links and apart groups cost each constrained row in each cluster, (n, k).");
}

}  // namespace linkwise
