// ReCon: merging the closest pair of clusters that leaves all constraints satisfiable; see
// linkwise/hierarchy.
#include <cmath>
#include <set>

#include "bindings.h"
#include "constraints.h"

namespace linkwise {
namespace {

// Triplets ab|c between clusters, and OneTree's tree of the clusters that have any. The branches of
// a node are the parts that triplets inside it hold together. Two clusters may merge if they hang
// from one node. If they meet in a node of two branches they may not: joined, nothing would keep
// the two apart. Else they may if OneTree finds a tree of the two branches with them as one.
class Relative {
  public:
    Relative(Array<const Triplet> given, i64 n)
        : n(n), ends(given.begin(), given.end()), alive(given.size, 1), places(n), count(n),
          up(n, -1), label(n), children(n), number(n, -1),
          left(n), right(n), holds(given.size) {
        std::vector<i64> items;
        for (i64 t = 0; t < given.size; t++)
            for (i64 side = 0; side < 3; side++) {
                const i64 v = ends[t][side];
                places[v].push_back(3 * t + side);
                if (!count[v]++) items.push_back(v);
            }
        if (items.empty()) return;
        for (std::size_t k = 0; k < items.size(); k++) number[items[k]] = k;
        std::vector<Triplet> local;
        for (const Triplet &t : ends) local.push_back({number[t[0]], number[t[1]], number[t[2]]});
        const auto above = split_down({local.data(), i64(local.size())}, i64(items.size())).first;
        check(!above.empty(), "the triplets contradict each other");
        hang(items, above, -1);
        for (i64 v : items) number[v] = -1;
    }

    // Whether the tree and earlier refusals show at once that i and j may not merge.
    bool hopeless(i64 i, i64 j) const {
        if (!count[i] || !count[j] || up[i] == up[j]) return false;
        return children[up[branches(i, j).first]].size() == 2 || is_refused(i, j);
    }

    // Make x a part of y, or return false if no tree satisfies all triplets then.
    bool join(i64 x, i64 y) {
        if (count[x] && !count[y]) {  // y takes the place of x
            up[y] = up[x];
            if (up[x] >= 0) replace(up[x], x, y);
        } else if (count[x] && up[x] == up[y]) {
            leave(x);
        } else if (count[x]) {
            if (hopeless(x, y) || !rebuild(x, y)) return false;
        }
        rename(x, y);
        merge_proofs(x, y);
        return true;
    }

  private:
    i64 n;
    std::vector<Triplet> ends;
    std::vector<char> alive;
    std::vector<std::vector<i64>> places;  // 3 t + side of the triplets of each cluster
    std::vector<i64> count;                // of living ones
    // The tree: nodes from n on are sets. Labels rise from a node to those below it.
    std::vector<i64> up, label;
    std::vector<std::vector<i64>> children;
    std::vector<i64> unused;
    std::vector<i64> number;  // of a cluster in the present call of OneTree, -1 outside of it

    // The two branches in which i and j hang from the node where they meet.
    std::pair<i64, i64> branches(i64 i, i64 j) const {
        while (up[i] != up[j]) {
            if (label[up[i]] > label[up[j]]) i = up[i];
            else j = up[j];
        }
        return {i, j};
    }

    void replace(i64 node, i64 child, i64 other) {
        *std::find(children[node].begin(), children[node].end(), child) = other;
    }
    void unlink(i64 child) {
        auto &siblings = children[up[child]];
        siblings.erase(std::find(siblings.begin(), siblings.end(), child));
        up[child] = -1;
    }
    // Take a cluster out of the tree; a set with one branch left is replaced by that branch.
    void leave(i64 v) {
        const i64 node = up[v];
        if (node < 0) return;
        unlink(v);
        if (children[node].size() > 1) return;
        const i64 over = up[node];
        if (!children[node].empty()) {
            const i64 only = children[node][0];
            up[only] = over;
            if (over >= 0) replace(over, node, only);
        }
        free(node);
    }
    void free(i64 node) {
        children[node].clear();
        up[node] = -1;
        unused.push_back(node);
    }
    i64 new_set(i64 over) {
        if (unused.empty()) {
            unused.push_back(up.size());
            up.push_back(-1), label.push_back(0), children.emplace_back();
        }
        const i64 node = unused.back();
        unused.pop_back();
        label[node] = over < 0 ? 0 : label[over] + 1;
        put(node, over);
        return node;
    }
    void put(i64 node, i64 over) {
        up[node] = over;
        if (over >= 0) children[over].push_back(node);
    }
    // A tree as `split_down` returns it, under a node.
    void hang(const std::vector<i64> &items, const std::vector<i64> &above, i64 over) {
        std::vector<i64> sets;
        for (std::size_t k = items.size(); k < above.size(); k++)
            sets.push_back(new_set(above[k] < 0 ? over : sets[above[k]]));
        for (std::size_t k = 0; k < items.size(); k++) put(items[k], sets[above[k]]);
    }

    // Replace the branches of x and y by a tree in which the two are one, if there is one.
    bool rebuild(i64 x, i64 y) {
        const auto [p, q] = branches(x, y);
        std::vector<i64> nodes{p, q}, items, which;
        for (std::size_t k = 0; k < nodes.size(); k++) {
            const i64 v = nodes[k];
            if (v >= n) nodes.insert(nodes.end(), children[v].begin(), children[v].end());
            else if (v != x) number[v] = items.size(), items.push_back(v);
        }
        number[x] = number[y];
        std::vector<Triplet> inside;
        for (i64 v : nodes) {
            if (v >= n) continue;
            for (i64 place : places[v]) {
                const i64 t = place / 3;
                const Triplet local{number[ends[t][0]], number[ends[t][1]], number[ends[t][2]]};
                if (place % 3 || !alive[t] || local[1] < 0 || local[2] < 0) continue;
                if (local[0] != local[1]) inside.push_back(local), which.push_back(t);
            }
        }
        const auto [above, living] =
            split_down({inside.data(), i64(inside.size())}, i64(items.size()));
        for (i64 v : items) number[v] = -1;
        number[x] = -1;
        if (above.empty()) {
            for (std::size_t k = 0; k < which.size(); k++) holds[which[k]] = living[k];
            remember(which, x);
            return false;
        }
        const i64 over = up[p];
        unlink(p), unlink(q);
        for (i64 v : nodes)
            if (v >= n) free(v);
        up[x] = -1;
        hang(items, above, over);
        return true;
    }

    // Triplets of x become triplets of y; those with a = b are satisfied.
    void rename(i64 x, i64 y) {
        const std::vector<i64> moved = std::move(places[x]);
        places[x].clear();
        count[x] = 0;
        for (i64 place : moved) {
            if (!alive[place / 3]) continue;
            ends[place / 3][place % 3] = y;
            places[y].push_back(place);
            count[y]++;
        }
        for (i64 place : moved) {
            const i64 t = place / 3;
            if (!alive[t] || ends[t][0] != ends[t][1]) continue;
            alive[t] = 0;
            count[y] -= 2;
            if (!--count[ends[t][2]]) leave(ends[t][2]);
        }
        if (!moved.empty() && !count[y]) leave(y);
    }

    // ---------------------------------------------------------------- earlier refusals
    //
    // A refusal of x and y ends with clusters that triplets inside of them hold together once x and
    // y are one, so that no tree can split them. Without the join they fall into two sides, and the
    // same triplets refuse every pair with one cluster on each side. Merging contracts the set or
    // renames one of its clusters; both keep it connected, until only two are left.
    static constexpr int words = 4;  // 256 proofs; the oldest make room for new ones
    using Bits = std::array<std::uint64_t, words>;
    std::vector<Bits> left, right;
    std::vector<char> holds;  // whether a triplet is part of the present refusal
    Bits in_force{};
    std::array<i64, 64 * words> size{};
    i64 n_proofs = 0;

    bool is_refused(i64 i, i64 j) const {
        for (int w = 0; w < words; w++)
            if (((left[i][w] & right[j][w]) | (right[i][w] & left[j][w])) & in_force[w]) return true;
        return false;
    }
    // Store the two sides of the triplets that refuse x.
    void remember(const std::vector<i64> &which, i64 x) {
        const i64 proof = n_proofs++ % (64 * words);
        const int w = proof / 64;
        const std::uint64_t bit = std::uint64_t(1) << proof % 64;
        for (i64 v = 0; v < n; v++) left[v][w] &= ~bit, right[v][w] &= ~bit;
        std::vector<i64> queue{x};
        left[x][w] |= bit;
        for (std::size_t head = 0; head < queue.size(); head++)  // what edges join to x
            for (i64 place : places[queue[head]]) {
                if (place % 3 == 2 || !holds[place / 3]) continue;
                const i64 v = ends[place / 3][1 - place % 3];
                if (left[v][w] & bit) continue;
                left[v][w] |= bit;
                queue.push_back(v);
            }
        size[proof] = queue.size();
        for (i64 t : which) {
            for (int side = 0; holds[t] && side < 2; side++) {
                const i64 v = ends[t][side];
                if ((left[v][w] | right[v][w]) & bit) continue;
                right[v][w] |= bit;
                size[proof]++;
            }
            holds[t] = 0;
        }
        in_force[w] |= bit;
    }
    void merge_proofs(i64 x, i64 y) {
        for (int w = 0; w < words; w++) {
            const std::uint64_t both =
                ((left[x][w] & left[y][w]) | (right[x][w] & right[y][w])) & in_force[w];
            for (int b = 0; both >> b && b < 64; b++)
                if (both >> b & 1 && --size[64 * w + b] == 2) in_force[w] &= ~(std::uint64_t(1) << b);
            left[y][w] |= left[x][w];
            right[y][w] |= right[x][w];
        }
    }
};

// Cannot-links between clusters, and a coloring that shows that `limit` clusters suffice. Limit 0:
// any number of clusters; -1: colors are clusters, which never mix.
class Apart {
  public:
    Apart(Table<const i64> links, Array<const i64> colors, i64 limit)
        : near(colors.size), color(colors.begin(), colors.end()), limit(limit) {
        for (i64 t = 0; t < links.rows; t++) {
            near[links[t][0]].insert(links[t][1]);
            near[links[t][1]].insert(links[t][0]);
        }
    }
    bool may_be_together(i64 i, i64 j) {
        if (limit < 0) return color[i] < 0 || color[j] < 0 || color[i] == color[j];
        if (near[i].empty() || near[j].empty()) return true;
        if (near[i].count(j)) return false;
        return limit == 0 || color[i] == color[j] || recolor(i, j);
    }
    void join(i64 x, i64 y) {
        if (near[y].empty() && color[x] >= 0) color[y] = color[x];
        for (i64 w : near[x]) {
            near[w].erase(x);
            if (w != y) near[w].insert(y), near[y].insert(w);
        }
        near[x].clear();
    }

  private:
    std::vector<std::set<i64>> near;
    std::vector<i64> color;
    i64 limit;

    // Color the clusters with i and j as one. Clusters with fewer neighbors than colors are set
    // aside until none is left; colored in the opposite order, each finds a free color.
    bool recolor(i64 i, i64 j) {
        const i64 n = near.size();
        auto neighbors = [&](i64 v) {
            std::set<i64> found = near[v];
            if (v == i) found.insert(near[j].begin(), near[j].end());
            else if (found.erase(j)) found.insert(i);
            return found;
        };
        std::vector<i64> degree(n), order;
        std::vector<char> gone(n, 0);
        i64 n_all = 0;
        for (i64 v = 0; v < n; v++) {
            if (v == j || near[v].empty()) continue;
            n_all++;
            degree[v] = neighbors(v).size();
            if (degree[v] < limit) gone[v] = 1, order.push_back(v);
        }
        for (std::size_t head = 0; head < order.size(); head++)
            for (i64 w : neighbors(order[head]))
                if (--degree[w] < limit && !gone[w]) gone[w] = 1, order.push_back(w);
        if (i64(order.size()) < n_all) return false;
        std::vector<char> done(n, 0);
        for (i64 k = n_all - 1; k >= 0; k--) {
            std::vector<char> taken(limit, 0);
            for (i64 w : neighbors(order[k]))
                if (done[w]) taken[color[w]] = 1;
            color[order[k]] = std::find(taken.begin(), taken.end(), 0) - taken.begin();
            done[order[k]] = 1;
        }
        color[j] = color[i];
        return true;
    }
};

// Merge must-linked groups first, then what no cannot-link keeps apart, then everything.
enum Mode { inside, apart_only, all };
constexpr double tiny = 1e-300;  // distances are positive: the sign of one marks a refused pair

// Distances are condensed as SciPy has them, and for each cluster the nearest of those after it is
// kept (Muellner's generic algorithm). The distance of a pair that may not merge is negative;
// merging either of the two makes it positive again, to be tested anew.
struct Clusters {
    Array<double> distance;
    Array<const i64> group;
    int linkage;
    Relative &relative;
    i64 n = group.size;
    int mode = -1;
    std::vector<i64> size = std::vector<i64>(n, 1), near = std::vector<i64>(n, -1);
    std::vector<double> least = std::vector<double>(n, infinity);

    double &between(i64 i, i64 j) const { return distance[n * i - i * (i + 1) / 2 - i - 1 + j]; }
    bool may_try(i64 i, i64 j) const { return mode != inside || group[i] == group[j]; }

    void scan(i64 i) {
        least[i] = infinity, near[i] = -1;
        for (i64 j = i + 1; j < n; j++) {
            double &d = between(i, j);
            if (!(0 < d && d < least[i]) || !may_try(i, j)) continue;
            if (relative.hopeless(i, j)) d = -d;
            else least[i] = d, near[i] = j;
        }
    }
    void next_mode() {
        mode++;
        for (double &d : distance) d = std::abs(d);
        for (i64 i = 0; i < n; i++)
            if (size[i]) scan(i);
    }
    // Lance and Williams: the distance of z to the union of x and y.
    double updated(double dx, double dy, double dxy, double sx, double sy, double sz) const {
        switch (linkage) {
            case 0: return std::min(dx, dy);
            case 1: return std::max(dx, dy);
            case 2: return (sx * dx + sy * dy) / (sx + sy);
            case 3: return (sx * dx + sy * dy - sx * sy * dxy / (sx + sy)) / (sx + sy);
            default: return ((sx + sz) * dx + (sy + sz) * dy - sz * dxy) / (sx + sy + sz);
        }
    }
    void join(i64 x, i64 y) {
        const double dxy = std::abs(between(x, y));
        least[y] = infinity, near[y] = -1;
        for (i64 z = 0; z < n; z++) {
            if (z == x || z == y || !size[z]) continue;
            const i64 low = std::min(z, y), high = std::max(z, y);
            double &to_x = z < x ? between(z, x) : between(x, z), &to_y = between(low, high);
            const double d = std::max(tiny, updated(std::abs(to_x), std::abs(to_y), dxy, size[x],
                                                    size[y], size[z]));
            to_x = infinity, to_y = d;
            if (d >= least[low] || !may_try(z, y)) continue;
            if (relative.hopeless(low, high)) to_y = -d;
            else least[low] = d, near[low] = high;
        }
        between(x, y) = least[x] = infinity;
        size[y] += size[x], size[x] = 0;
    }
};

bool merge_clusters(Clusters k, Apart apart, Mode first, Table<i64> children, Array<double> height) {
    const i64 n = k.n;
    std::vector<i64> name(n);
    for (i64 i = 0; i < n; i++) name[i] = i;
    k.mode = first - 1;
    for (i64 t = 0; t + 1 < n;) {
        const i64 x = std::min_element(k.least.begin(), k.least.end()) - k.least.begin();
        if (k.least[x] == infinity) {
            if (k.mode == all) return false;
            k.next_mode();
            continue;
        }
        const i64 y = k.near[x];
        double &d = k.between(x, y);
        if (d != k.least[x]) {  // the row has changed since
            k.scan(x);
            continue;
        }
        if ((k.mode == apart_only && !apart.may_be_together(x, y)) || !k.relative.join(x, y)) {
            d = -d;
            k.scan(x);
            continue;
        }
        children[t][0] = std::min(name[x], name[y]), children[t][1] = std::max(name[x], name[y]);
        height[t] = d;
        apart.join(x, y);
        k.join(x, y);
        name[y] = n + t++;
        if (t % 100 == 0) {  // let Ctrl-C through
            nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals()) throw nb::python_error();
        }
    }
    return true;
}

}  // namespace

void bind_hierarchy(nb::module_ &m) {
    m.def("merge_clusters",
          [](Out1<double> distance, In1<i64> group, In2<i64> triplets, In2<i64> cannot,
             In1<i64> color, i64 limit, int linkage, bool groups_first, Out2<i64> children,
             Out1<double> height) {
              const i64 n = group.size();
              check(n > 0, "there are no rows");
              check_length(distance, n * (n - 1) / 2, "distance");
              check_shape(triplets, triplets.shape(0), 3, "triplets");
              check_indices(triplets, n, "triplets");
              for (const i64 *t = triplets.data(); t != triplets.data() + triplets.size(); t += 3)
                  check(t[0] != t[1] && t[0] != t[2] && t[1] != t[2], "triplets repeat an item");
              check(0 <= linkage && linkage < 5, "no such linkage");
              check_shape(cannot, cannot.shape(0), 2, "cannot");
              check_indices(cannot, n, "cannot");
              for (const i64 *t = cannot.data(); t != cannot.data() + cannot.size(); t += 2)
                  check(t[0] != t[1], "cannot links a row to itself");
              check_length(color, n, "color");
              if (limit > 0) check_indices(color, limit, "color", -1);
              check_shape(children, n - 1, 2, "children");
              check_length(height, n - 1, "height");
              nb::gil_scoped_release free;
              Relative relative({reinterpret_cast<const Triplet *>(triplets.data()),
                                 i64(triplets.shape(0))}, n);
              return merge_clusters({array(distance), array(group), linkage, relative},
                                    Apart(table(cannot), array(color), limit),
                                    groups_first ? inside : apart_only, table(children),
                                    array(height));
          },
          as_is("distance"), nb::arg("group"), nb::arg("triplets"), nb::arg("cannot"),
          nb::arg("color"), nb::arg("limit"), nb::arg("linkage"), nb::arg("groups_first"),
          as_is("children"), as_is("height"),
          "Merge the closest pair that may merge until one cluster is left; false if none may.");
}

}  // namespace linkwise
