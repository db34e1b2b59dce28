// Agglomeration of parts under answers, by Ward's linkage with the Lance-Williams update. A node is a
// part or a merged cluster, named by the lowest slot it took; H[i][j] is the increase of the sum of
// squares when i and j merge. See linkwise/active.
#include <cmath>
#include <numeric>

#include "bindings.h"

namespace linkwise {
namespace {

std::vector<i64> counted(i64 n) {
    std::vector<i64> out(n);
    std::iota(out.begin(), out.end(), 0);
    return out;
}

// Nodes of one family are in one cluster by answers, though they need not be merged; families that
// are apart must not be joined.
class Families {
  public:
    Families(Array<i64> family, Table<bool> apart) : family(family), apart(apart), guarded(apart.rows) {
        for (i64 f = 0; f < apart.rows; f++)
            for (const bool is_apart : apart.row(f)) guarded[f] |= is_apart;
    }
    bool same(i64 i, i64 j) const { return family[i] == family[j]; }
    bool may_join(i64 i, i64 j) const { return !apart[family[i]][family[j]]; }
    void join(i64 i, i64 j) {
        const i64 f = family[i], g = family[j];
        if (f == g) return;
        for (i64 &one : family)
            if (one == g) one = f;
        if (!guarded[g]) return;
        guarded[f] = 1;
        for (i64 h = 0; h < apart.rows; h++)
            if (apart[g][h]) apart[f][h] = apart[h][f] = true;
    }

  private:
    Array<i64> family;
    Table<bool> apart;
    std::vector<char> guarded;  // families with anything apart from them
};

// Linkage of the union of i and j to k, joined at a height.
double joined(double si, double sj, double sk, double ik, double jk, double height) {
    return ((si + sk) * ik + (sj + sk) * jk - sk * height) / (si + sj + sk);
}

// Merges the closest allowed nodes; returns how many it merged. `merges` takes nodes, height, sizes, and 1 if both were of one family already; `crossing` the height at which each
// pair of parts merged, or would have merged were it allowed.
i64 agglomerate(Table<double> H, Array<double> size, Families families, Array<i64> nearest,
                Array<double> distance, Table<const i64> pairs, Array<double> crossing,
                Table<double> merges) {
    const i64 m = H.rows;
    std::vector<i64> live = counted(m), root = counted(m), waiting = counted(pairs.rows);
    std::vector<char> alive(m, 1);
    i64 n_merges = 0;
    while (live.size() > 1) {
        i64 i = -1;
        double height = infinity;
        for (const i64 k : live)
            if (distance[k] < height) i = k, height = distance[k];
        if (i < 0) break;
        const i64 j = nearest[i];
        if (!alive[j] || H[i][j] != height || !families.may_join(i, j)) {
            distance[i] = infinity;  // stale: constraints only grow, so the true distance is higher
            for (const i64 k : live)
                if (k != i && H[i][k] < distance[i] && families.may_join(i, k)) distance[i] = H[i][k], nearest[i] = k;
            continue;
        }
        const double si = size[i], sj = size[j], row[6] = {double(i), double(j), height, si, sj, double(families.same(i, j))};
        std::copy_n(row, 6, merges[n_merges++]);
        families.join(i, j);
        alive[j] = 0;
        std::erase(live, j);
        for (const i64 k : live)
            if (k != i) H[i][k] = H[k][i] = joined(si, sj, size[k], H[i][k], H[j][k], height);
        size[i] = si + sj;
        for (i64 &one : root)
            if (one == j) one = i;
        distance[i] = infinity;
        for (const i64 k : live) {
            if (k == i || !families.may_join(i, k)) continue;
            if (H[i][k] < distance[i]) distance[i] = H[i][k], nearest[i] = k;
            if (H[i][k] < distance[k]) distance[k] = H[i][k], nearest[k] = i;
        }
        std::erase_if(waiting, [&](i64 q) {
            const i64 x = root[pairs[q][0]], y = root[pairs[q][1]];
            if (x != y && !(H[x][y] <= height)) return false;
            crossing[q] = x == y ? height : H[x][y];
            return true;
        });
    }
    for (const i64 q : waiting) crossing[q] = H[root[pairs[q][0]]][root[pairs[q][1]]];
    return n_merges;
}

// The merges of a tree up to the height `cut`, or to the first that is not allowed: how many, and the
// node of each part. Whether both nodes are of one family is set anew.
std::pair<i64, std::vector<i64>> follow(Table<double> merges, double cut, i64 n_parts, Families families) {
    i64 n = 0;
    for (; n < merges.rows && merges[n][2] <= cut; n++) {
        const i64 i = i64(merges[n][0]), j = i64(merges[n][1]);
        if (!families.may_join(i, j)) break;
        merges[n][5] = families.same(i, j);
        families.join(i, j);
    }
    std::vector<i64> root = counted(n_parts);
    for (i64 q = n - 1; q >= 0; q--) root[i64(merges[q][1])] = root[i64(merges[q][0])];
    return {n, root};
}

// The merge that joins each pair of parts; -1 if none does.
std::vector<i64> joining_merges(Table<const double> merges, i64 n_parts, Table<const i64> pairs) {
    const i64 n = merges.rows;
    std::vector<i64> parent = counted(n_parts), until(n_parts, n), found(pairs.rows, -1);
    for (i64 q = 0; q < n; q++) parent[i64(merges[q][1])] = i64(merges[q][0]), until[i64(merges[q][1])] = q;
    for (i64 p = 0; p < pairs.rows; p++)
        for (i64 a = pairs[p][0], b = pairs[p][1]; a != b; a = parent[a]) {
            if (until[a] > until[b]) std::swap(a, b);
            found[p] = until[a] < n ? until[a] : -1;
            if (until[a] == n) break;  // both are nodes that are left
        }
    return found;
}

// -------------------------------------------------------------------- answers that may be wrong

// The log odds of "same" at height h are slope * (middle - log h), at most `most`, so that closeness
// never outweighs an answer or two.
struct Belief {
    double slope, middle, most;
    // Whether a merge at height h stands against the answers that speak against it.
    bool stands(double h, double evidence) const {
        return evidence >= 0 || std::min(slope * (middle - std::log(h)), most) + evidence >= 0;
    }
};

// Merges the closest nodes up to `cut` where answers do not outweigh closeness. `evidence`, the sum of
// the log odds of the answers between nodes, adds up when nodes merge. Returns the node of each part.
std::vector<i64> agglomerate_softly(Table<double> H, Array<double> size, Table<double> evidence, double cut,
                                    const Belief &belief) {
    const i64 m = H.rows;
    std::vector<i64> root = counted(m), live = counted(m), nearest(m, -1);
    std::vector<char> alive(m, 1);
    std::vector<double> distance(m);
    auto search = [&](i64 i) {
        distance[i] = infinity;
        for (const i64 k : live)
            if (k != i && H[i][k] < distance[i] && belief.stands(H[i][k], evidence[i][k]))
                distance[i] = H[i][k], nearest[i] = k;
    };
    for (i64 i = 0; i < m; i++) search(i);
    for (;;) {
        i64 i = -1;
        double height = infinity;
        for (const i64 k : live)
            if (distance[k] < height) i = k, height = distance[k];
        if (i < 0 || height > cut) return root;
        const i64 j = nearest[i];
        if (!alive[j] || H[i][j] != height || !belief.stands(height, evidence[i][j])) {
            search(i);
            continue;
        }
        alive[j] = 0;
        std::erase(live, j);
        for (i64 &one : root)
            if (one == j) one = i;
        distance[i] = infinity;
        for (const i64 k : live) {
            if (k == i) continue;
            const double value = joined(size[i], size[j], size[k], H[i][k], H[j][k], height);
            H[i][k] = H[k][i] = value;
            evidence[i][k] += evidence[j][k];
            evidence[k][i] = evidence[i][k];
            if (!belief.stands(value, evidence[i][k])) continue;
            if (value < distance[i]) distance[i] = value, nearest[i] = k;
            if (value < distance[k]) distance[k] = value, nearest[k] = i;
        }
        size[i] += size[j];
    }
}

struct Scores {
    Array<const i64> start, other;
    Array<const double> value;
};

// Moves parts, one at a time, to the cluster that their answers and neighbors speak for. A cluster is
// worth the log odds of the answers about its parts, and `votes` times the logarithm of the share of
// the neighbors that are in it, plus `least`.
void move_parts(Array<i64> label, Array<const i64> told, const Scores &answers, const Scores &neighbors,
                double votes, double least) {
    constexpr int sweeps = 10;
    const i64 m = label.size;
    const double alone = votes * std::log(least);
    std::vector<i64> size(m);
    std::vector<double> said(m), heard(m);
    for (const i64 c : label) size[c]++;
    bool moved = true;
    for (int sweep = 0; moved && sweep < sweeps; sweep++) {
        moved = false;
        for (const i64 i : told) {
            const i64 own = label[i];
            double total = 1e-300;
            for (i64 p = neighbors.start[i]; p < neighbors.start[i + 1]; p++) {
                heard[label[neighbors.other[p]]] += neighbors.value[p];
                total += neighbors.value[p];
            }
            for (i64 p = answers.start[i]; p < answers.start[i + 1]; p++) said[label[answers.other[p]]] += answers.value[p];
            auto worth = [&](i64 c) { return said[c] + votes * std::log(heard[c] / total + least); };
            i64 best = own;
            double top = alone;
            if (size[own] > 1) {
                top = worth(own);
                if (alone > top) {  // a cluster of its own
                    best = std::min_element(size.begin(), size.end()) - size.begin();
                    top = alone;
                }
            }
            for (const Scores *scores : {&neighbors, &answers})
                for (i64 p = scores->start[i]; p < scores->start[i + 1]; p++) {
                    const i64 c = label[scores->other[p]];
                    if (c != own && worth(c) > top) best = c, top = worth(c);
                }
            for (i64 p = neighbors.start[i]; p < neighbors.start[i + 1]; p++) heard[label[neighbors.other[p]]] = 0;
            for (i64 p = answers.start[i]; p < answers.start[i + 1]; p++) said[label[answers.other[p]]] = 0;
            if (best == own) continue;
            size[own]--;
            size[best]++;
            label[i] = best;
            moved = true;
        }
    }
}

// -------------------------------------------------------------------- bindings

// Both nodes of every merge are parts that are not merged into another yet.
template <class A> void check_merges(const A &merges, i64 n_parts) {
    const i64 n = merges.shape(0);
    check(n_parts >= 0, "n_parts is negative");
    check_shape(merges, n, 6, "merges");
    std::vector<char> gone(n_parts);
    for (i64 q = 0; q < n; q++) {
        const double i = merges.data()[6 * q], j = merges.data()[6 * q + 1];
        check(0 <= i && i < double(n_parts) && 0 <= j && j < double(n_parts) && i64(i) != i64(j), "merges name no part");
        check(!gone[i64(i)] && !gone[i64(j)], "merges repeat a part");
        gone[i64(j)] = 1;
    }
}

Families checked_families(const Out1<i64> &family, const Out2<bool> &apart, i64 n) {
    check_length(family, n, "family");
    check_shape(apart, apart.shape(0), apart.shape(0), "apart");
    check_indices(family, apart.shape(0), "family");
    return Families(array(family), table(apart));
}

Table<const i64> checked_pairs(const In2<i64> &pairs, i64 n) {
    check_shape(pairs, pairs.shape(0), 2, "pairs");
    check_indices(pairs, n, "pairs");
    return table(pairs);
}

Scores checked_scores(const In1<i64> &start, const In1<i64> &other, const In1<double> &value, i64 m) {
    check_starts(start, m, other.size(), "starts");
    check_indices(other, m, "parts");
    check_length(value, other.size(), "scores");
    return {array(start), array(other), array(value)};
}

}  // namespace

void bind_active(nb::module_ &m) {
    m.def("agglomerate",
          [](Out2<double> H, Out1<double> size, Out1<i64> family, Out2<bool> apart, Out1<i64> nearest,
             Out1<double> distance, In2<i64> pairs, Out1<double> crossing, Out2<double> merges) {
              const i64 n = size.size();
              check_shape(H, n, n, "H");
              const Families families = checked_families(family, apart, n);
              const auto wanted = checked_pairs(pairs, n);
              check_length(nearest, n, "nearest");
              check_indices(nearest, n, "nearest");
              check_length(distance, n, "distance");
              check_length(crossing, wanted.rows, "crossing");
              check_shape(merges, n, 6, "merges");
              nb::gil_scoped_release free;
              return agglomerate(table(H), array(size), families, array(nearest), array(distance), wanted,
                                 array(crossing), table(merges));
          },
          as_is("H"), as_is("size"), as_is("family"), as_is("apart"), as_is("nearest"), as_is("distance"),
          nb::arg("pairs"), as_is("crossing"), as_is("merges"),
          "Merge the closest allowed nodes; returns how many merged.");
    m.def("follow",
          [](Out2<double> merges, double cut, Out1<i64> family, Out2<bool> apart) {
              const i64 n = family.size();
              check_merges(merges, n);
              const Families families = checked_families(family, apart, n);
              std::pair<i64, std::vector<i64>> found;
              {
                  nb::gil_scoped_release free;
                  found = follow(table(merges), cut, n, families);
              }
              return std::tuple(found.first, give(std::move(found.second)));
          },
          as_is("merges"), nb::arg("cut"), as_is("family"), as_is("apart"),
          "Merges of a tree up to a height or to the first that is not allowed; the node of each part.");
    m.def("joining_merges",
          [](In2<double> merges, i64 n_parts, In2<i64> pairs) {
              check_merges(merges, n_parts);
              const auto wanted = checked_pairs(pairs, n_parts);
              std::vector<i64> found;
              {
                  nb::gil_scoped_release free;
                  found = joining_merges(table(merges), n_parts, wanted);
              }
              return give(std::move(found));
          },
          nb::arg("merges"), nb::arg("n_parts"), nb::arg("pairs"),
          "The merge that joins each pair of parts; -1 if none does.");
    m.def("agglomerate_softly",
          [](Out2<double> H, Out1<double> size, Out2<double> evidence, double cut, double slope, double middle, double most) {
              const i64 n = size.size();
              check_shape(H, n, n, "H");
              check_shape(evidence, n, n, "evidence");
              std::vector<i64> found;
              {
                  nb::gil_scoped_release free;
                  found = agglomerate_softly(table(H), array(size), table(evidence), cut, {slope, middle, most});
              }
              return give(std::move(found));
          },
          as_is("H"), as_is("size"), as_is("evidence"), nb::arg("cut"), nb::arg("slope"), nb::arg("middle"),
          nb::arg("most"), "Merge the closest nodes up to `cut` where answers do not outweigh closeness.");
    m.def("move_parts",
          [](Out1<i64> label, In1<i64> told, In1<i64> first, In1<i64> other, In1<double> odds, In1<i64> start,
             In1<i64> neighbor, In1<double> affinity, double votes, double least) {
              const i64 n = label.size();
              check_indices(label, n, "label");
              check_indices(told, n, "told");
              const Scores answers = checked_scores(first, other, odds, n);
              const Scores neighbors = checked_scores(start, neighbor, affinity, n);
              nb::gil_scoped_release free;
              move_parts(array(label), array(told), answers, neighbors, votes, least);
          },
          as_is("label"), nb::arg("told"), nb::arg("first"), nb::arg("other"), nb::arg("odds"), nb::arg("start"),
          nb::arg("neighbor"), nb::arg("affinity"), nb::arg("votes"), nb::arg("least"),
          "Move parts to the clusters that their answers and neighbors speak for.");
}

}  // namespace linkwise
