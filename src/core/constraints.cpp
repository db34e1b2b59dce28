// OneTree: splitting sets of items while their triplets fall away; see linkwise/constraints.
//
// A triplet ab|c lives while its three items are in one set; the edges (a, b) of living triplets
// hold a set together. When a set is split, only its smaller parts are walked: their triplets with
// an item elsewhere die. The largest part is looked at only where edges died, by searching from
// both ends at once until they meet or the smaller side is exhausted. A part of a set is therefore
// walked O(log n) times, whatever the depth.
#include "constraints.h"

#include <numeric>

#include "bindings.h"

namespace linkwise {
namespace {

// For each item, the triplets in which it stands in columns first..stop, ascending (CSR).
struct Occurrences {
    std::vector<i64> start, which;
    Occurrences(Array<const Triplet> triplets, i64 n_items, int first, int stop) : start(n_items + 1) {
        for (const Triplet &t : triplets)
            for (int side = first; side < stop; side++) start[t[side] + 1]++;
        std::partial_sum(start.begin(), start.end(), start.begin());
        which.resize(start[n_items]);
        std::vector<i64> fill(start.begin(), start.end() - 1);
        for (i64 t = 0; t < triplets.size; t++)
            for (int side = first; side < stop; side++) which[fill[triplets[t][side]]++] = t;
    }
};

struct Stretch { i64 first, stop; };

class OneTree {
  public:
    OneTree(Array<const Triplet> triplets, i64 n)
        : triplets(triplets), n(n), edges(triplets, n, 0, 2), third(triplets, n, 2, 3), degree(n),
          ends(edges.which.size()), place(triplets.size), alive(triplets.size, 1), order(n), at(n),
          mark(n), queue{std::vector<i64>(n), std::vector<i64>(n)} {
        for (i64 v = 0; v < n; v++) {
            degree[v] = edges.start[v + 1] - edges.start[v];
            for (i64 e = edges.start[v]; e < edges.start[v + 1]; e++) {
                const i64 t = edges.which[e];
                const int side = side_of(t, v);
                place[t][side] = e;
                ends[e] = triplets[t][1 - side];
            }
        }
        std::iota(order.begin(), order.end(), 0);
        std::iota(at.begin(), at.end(), 0);
    }

    std::pair<std::vector<i64>, std::vector<char>> run() {
        std::vector<i64> above(2 * n, -1);
        struct Waiting { i64 low, high, up; };
        std::vector<Waiting> waiting{{0, n, -1}};
        i64 n_sets = 0;
        while (!waiting.empty()) {
            auto [low, high, up] = waiting.back();
            waiting.pop_back();
            i64 n_edges = -1;  // nothing is known about this stretch
            while (high - low > 1) {
                Stretch rest{low, high};
                bool known = n_edges >= 0 && cut_known(rest, n_edges);
                if (!known) {
                    looked = 0;
                    cut_unknown(rest = {low, high});
                    n_edges = looked;
                }
                if (pieces.empty()) {
                    for (i64 t = 0; t < triplets.size; t++) {
                        const i64 a = at[triplets[t][0]];
                        alive[t] = alive[t] && low <= a && a < high;
                    }
                    return {{}, alive};
                }
                above[n + n_sets] = up;
                up = n_sets++;
                n_edges -= bury(rest);
                for (const Stretch &piece : pieces) {
                    if (piece.stop - piece.first == 1) above[order[piece.first]] = up;
                    else waiting.push_back({piece.first, piece.stop, up});
                }
                low = rest.first, high = rest.stop;
            }
            above[order[low]] = up;
        }
        above.resize(n + n_sets);
        return {above, alive};
    }

  private:
    Array<const Triplet> triplets;
    i64 n;
    // Living edges of an item come first in its list, `degree` of them; `ends` are the items at
    // their other ends, `place` says where each triplet stands.
    Occurrences edges, third;
    std::vector<i64> degree, ends;
    std::vector<std::array<i64, 2>> place;
    std::vector<char> alive;
    std::vector<i64> order, at, mark;  // a set is a stretch of `order`; `at` is the inverse
    std::vector<i64> queue[2];
    std::vector<Stretch> pieces;
    std::vector<i64> died;
    i64 stamp = 0, looked = 0;  // the latest mark; edges looked at

    int side_of(i64 t, i64 v) const { return triplets[t][0] == v ? 0 : 1; }

    // Take triplet t out of the edge lists of its a and b.
    void kill(i64 t) {
        alive[t] = 0;
        for (int side = 0; side < 2; side++) {
            const i64 v = triplets[t][side], last = edges.start[v] + --degree[v], hole = place[t][side];
            const i64 moved = edges.which[last];
            edges.which[hole] = moved;
            ends[hole] = ends[last];
            place[moved][side_of(moved, v)] = hole;
        }
    }

    // Everything that living edges join to v, into the first queue; returns how many.
    i64 reach(i64 v) {
        stamp += 2;
        mark[v] = stamp;
        queue[0][0] = v;
        i64 tail = 1;
        for (i64 head = 0; head < tail; head++) {
            v = queue[0][head];
            looked += degree[v];
            for (i64 e = edges.start[v]; e < edges.start[v] + degree[v]; e++)
                if (mark[ends[e]] != stamp) mark[ends[e]] = stamp, queue[0][tail++] = ends[e];
        }
        return tail;
    }

    // The exhausted side and its size, or (-1, 0) when the two searches meet.
    std::pair<int, i64> meet(i64 a, i64 b) {
        stamp += 2;
        mark[a] = stamp, mark[b] = stamp + 1;
        queue[0][0] = a, queue[1][0] = b;
        i64 head[2] = {0, 0}, edge[2] = {0, 0}, tail[2] = {1, 1};
        for (;;)
            for (int side = 0; side < 2; side++) {
                i64 v = queue[side][head[side]];
                while (edge[side] == degree[v]) {
                    edge[side] = 0;
                    if (++head[side] == tail[side]) return {side, tail[side]};
                    v = queue[side][head[side]];
                }
                const i64 w = ends[edges.start[v] + edge[side]++];
                looked++;
                if (mark[w] == stamp + 1 - side) return {-1, 0};
                if (mark[w] != stamp + side) mark[w] = stamp + side, queue[side][tail[side]++] = w;
            }
    }

    // Make the items in the queue a piece before `front`; returns its start.
    i64 to_end(const std::vector<i64> &found, i64 size, i64 front) {
        front -= size;
        for (i64 k = 0; k < size; k++) {
            const i64 v = found[k], there = at[v], w = order[front + k];
            order[there] = w, at[w] = there;
            order[front + k] = v, at[v] = front + k;
        }
        pieces.push_back({front, front + size});
        return front;
    }

    // Components of a stretch of which nothing is known; the largest stays as `rest`.
    void cut_unknown(Stretch &rest) {
        pieces.clear();
        i64 front = rest.stop;
        std::size_t largest = 0;
        while (front > rest.first) {
            const i64 size = reach(order[rest.first]);
            front = to_end(queue[0], size, front);
            if (size > pieces[largest].stop - pieces[largest].first) largest = pieces.size() - 1;
        }
        rest = pieces[largest];
        pieces[largest] = pieces.back();
        pieces.pop_back();
    }

    // Components of a stretch that was one until the edges of `died` died. First the two ends of
    // each such edge are found joined or not. What is left then falls into several components only
    // if pieces cut off lay between them: the ends next to pieces must be joined to one of them,
    // the hub. False if it would look at more than `budget` edges.
    bool cut_known(Stretch &rest, i64 budget) {
        pieces.clear();
        i64 front = rest.stop, hub = -1;
        looked = 0;
        const i64 n_died = i64(died.size());
        for (i64 k = 0; k < 2 * n_died; k++) {
            i64 a = triplets[died[k % n_died]][0], b = triplets[died[k % n_died]][1];
            if (k >= n_died) {
                if ((at[a] < front) == (at[b] < front)) continue;
                b = at[a] < front ? a : b;
                if (hub < 0) hub = b;
                a = hub;
            }
            if (a == b || at[a] >= front || at[b] >= front) continue;
            auto [side, size] = meet(a, b);
            if (side >= 0) {
                front = to_end(queue[side], size, front);
                if (side == 0 && k >= n_died) hub = b;
            }
            if (looked > budget) return false;
        }
        rest.stop = front;
        return true;
    }

    // Kills what the pieces cut through; returns the number of edges that are gone.
    i64 bury(const Stretch &rest) {
        i64 n_edges = 0;
        died.clear();
        for (const Stretch &piece : pieces)
            for (i64 k = piece.first; k < piece.stop; k++) {
                const i64 v = order[k];
                auto outside = [&](i64 item) { return at[item] < piece.first || at[item] >= piece.stop; };
                n_edges += degree[v];
                for (i64 e = edges.start[v] + degree[v] - 1; e >= edges.start[v]; e--)
                    if (outside(triplets[edges.which[e]][2])) kill(edges.which[e]);
                for (i64 e = third.start[v]; e < third.start[v + 1]; e++) {
                    const i64 t = third.which[e], a = at[triplets[t][0]];
                    if (!alive[t] || !outside(triplets[t][0])) continue;
                    kill(t);
                    if (rest.first <= a && a < rest.stop) died.push_back(t);
                }
            }
        return n_edges + 2 * i64(died.size());
    }
};

}  // namespace

std::pair<std::vector<i64>, std::vector<char>> split_down(Array<const Triplet> triplets, i64 n_items) {
    return OneTree(triplets, n_items).run();
}

namespace {

Array<const Triplet> triplets_of(const In2<i64> &triplets, i64 n_items) {
    check(n_items > 0, "there are no items");
    check_shape(triplets, i64(triplets.shape(0)), 3, "triplets");
    check_indices(triplets, n_items, "triplets");
    return {reinterpret_cast<const Triplet *>(triplets.data()), i64(triplets.shape(0))};
}

}  // namespace

void bind_constraints(nb::module_ &m) {
    m.def("split_down",
          [](In2<i64> triplets, i64 n_items) {
              const auto known = triplets_of(triplets, n_items);
              // Each item of a triplet must differ: equal ones would break the lists of edges.
              for (const Triplet &t : known)
                  check(t[0] != t[1] && t[0] != t[2] && t[1] != t[2], "triplets repeat an item");
              std::pair<std::vector<i64>, std::vector<char>> made;
              {
                  nb::gil_scoped_release free;
                  made = split_down(known, n_items);
              }
              return std::tuple(give(std::move(made.first)), give(std::move(made.second)));
          },
          nb::arg("triplets"), nb::arg("n_items"),
          "OneTree: the set above each item and each set (none if inconsistent), living triplets.");
}

}  // namespace linkwise
