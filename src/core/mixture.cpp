// Sums over the labels of must-link groups with cannot-links between them: see
// linkwise/mixture/_field.py.
//
// A component of the graph of cannot-links becomes a forest once the nodes of its cutset have
// labels: every labeling of the cutset is tried, and sums pass along the edges of the forest.
#include <cmath>

#include "bindings.h"

namespace linkwise {
namespace {

constexpr double banned = 1000;  // exp(-1000) is 0

double log_sum(const double *values, i64 k) {
    const double top = *std::max_element(values, values + k);
    double total = 0;
    for (i64 c = 0; c < k; c++) total += std::exp(values[c] - top);
    return top + std::log(total);
}

// Log of the sum over the other labels, and over the same label at a cost. The label itself is
// left out of the sum, so nothing cancels; beside the greatest value, the others are summed
// relative to the second greatest.
void message(const double *values, double penalty, i64 k, double *out) {
    const i64 first = std::max_element(values, values + k) - values;
    i64 second = -1;
    for (i64 c = 0; c < k; c++)
        if (c != first && (second < 0 || values[c] > values[second])) second = c;
    double total = 0, rest = 0;
    for (i64 c = 0; c < k; c++) {
        total += std::exp(values[c] - values[first]);
        if (c != first) rest += std::exp(values[c] - values[second]);
    }
    for (i64 c = 0; c < k; c++) {
        double others = -infinity;  // with one label there are no others
        if (c != first)
            others = values[first] + std::log(total - std::exp(values[c] - values[first]));
        else if (second >= 0)
            others = values[second] + std::log(rest);
        const double same = values[c] - penalty, top = std::max(others, same);
        out[c] = top + std::log(std::exp(others - top) + std::exp(same - top));
    }
}

// Components one after another; nodes of a component in a row: the cutset, then the forest with
// parents before children.
struct Plan {
    Array<const i64> start, n_cut, parent;
    Array<const double> parent_penalty;
    Array<const i64> edge_start, edge_cut, edge_node;
    Array<const double> edge_penalty;
};

struct Forest {
    Table<double> values, up, beliefs;
};

// Sum over all labels of the forest at nodes first..last; `values` are its potentials under the
// labels of the cutset, `beliefs` become the log marginals but for a constant.
double sum_forest(const Plan &plan, i64 first, i64 last, double ban, Forest f) {
    const i64 k = f.values.columns;
    double total = 0;
    for (i64 i = last - 1; i >= first; i--) {
        const i64 parent = plan.parent[i];
        if (parent < 0) {
            total += log_sum(f.values[i], k);
            continue;
        }
        message(f.values[i], std::min(plan.parent_penalty[i], ban), k, f.up[i]);
        for (i64 c = 0; c < k; c++) f.values[parent][c] += f.up[i][c];
    }
    std::vector<double> cavity(k), down(k, 0.0);
    for (i64 i = first; i < last; i++) {
        const i64 parent = plan.parent[i];
        if (parent >= 0) {
            for (i64 c = 0; c < k; c++) cavity[c] = f.beliefs[parent][c] - f.up[i][c];
            message(cavity.data(), std::min(plan.parent_penalty[i], ban), k, down.data());
        }
        for (i64 c = 0; c < k; c++)
            f.beliefs[i][c] = f.values[i][c] + (parent < 0 ? 0.0 : down[c]);
    }
    return total;
}

// The next labels of the cutset, as a counter; false after the last.
bool next(std::vector<i64> &labels, i64 k) {
    for (i64 &label : labels) {
        if (++label < k) return true;
        label = 0;
    }
    return false;
}

double sum_component(const Plan &plan, i64 component, Table<const double> potential,
                     Table<double> marginal, Forest forest) {
    const i64 k = potential.columns, first = plan.start[component];
    const i64 last = plan.start[component + 1], n_cut = plan.n_cut[component];
    // An infinite cost becomes one that no potentials make up for, so that sums stay finite.
    double ban = banned;
    for (i64 i = first; i < last; i++) {
        const auto [low, high] = std::minmax_element(potential[i], potential[i] + k);
        ban += *high - *low;
        std::fill_n(marginal[i], k, 0.0);
    }
    std::vector<i64> labels(n_cut, 0);
    double best = -infinity, total = 0;
    do {
        double weight = 0;
        for (i64 i = first + n_cut; i < last; i++)
            std::copy_n(potential[i], k, forest.values[i]);
        for (i64 a = 0; a < n_cut; a++) weight += potential[first + a][labels[a]];
        for (i64 e = plan.edge_start[component]; e < plan.edge_start[component + 1]; e++) {
            const i64 a = plan.edge_cut[e], i = plan.edge_node[e];
            const double cost = std::min(plan.edge_penalty[e], ban);
            if (i >= n_cut) forest.values[first + i][labels[a]] -= cost;
            else if (labels[a] == labels[i]) weight -= cost;
        }
        weight += sum_forest(plan, first + n_cut, last, ban, forest);
        if (weight > best) {  // sums are relative to the best labeling of the cutset so far
            const double shrink = std::exp(best - weight);
            for (i64 i = first; i < last; i++)
                for (i64 c = 0; c < k; c++) marginal[i][c] *= shrink;
            total *= shrink;
            best = weight;
        }
        const double share = std::exp(weight - best);
        if (share == 0) continue;
        total += share;
        for (i64 a = 0; a < n_cut; a++) marginal[first + a][labels[a]] += share;
        for (i64 i = first + n_cut; i < last; i++) {
            const double norm = log_sum(forest.beliefs[i], k);
            for (i64 c = 0; c < k; c++)
                marginal[i][c] += share * std::exp(forest.beliefs[i][c] - norm);
        }
    } while (next(labels, k));
    for (i64 i = first; i < last; i++)
        for (i64 c = 0; c < k; c++) marginal[i][c] /= total;
    return best + std::log(total);
}

// Independent labels, improved one node after another; returns the lower bound of the log sum.
double mean_field(Array<const i64> indptr, Array<const i64> indices, Array<const double> penalty,
                  Table<const double> potential, Table<double> marginal, i64 max_sweeps, double tol) {
    const i64 n = potential.rows, k = potential.columns;
    std::vector<double> values(k);
    for (i64 sweep = 0; sweep < max_sweeps; sweep++) {
        double change = 0;
        for (i64 i = 0; i < n; i++) {
            std::copy_n(potential[i], k, values.data());
            for (i64 e = indptr[i]; e < indptr[i + 1]; e++)
                for (i64 c = 0; c < k; c++) values[c] -= penalty[e] * marginal[indices[e]][c];
            const double norm = log_sum(values.data(), k);
            for (i64 c = 0; c < k; c++) {
                const double share = std::exp(values[c] - norm);
                change = std::max(change, std::abs(share - marginal[i][c]));
                marginal[i][c] = share;
            }
        }
        if (change <= tol) break;
    }
    double bound = 0;
    for (i64 i = 0; i < n; i++)
        for (i64 c = 0; c < k; c++) {
            const double q = marginal[i][c];
            if (q > 0) bound += q * (potential[i][c] - std::log(q));
            for (i64 e = indptr[i]; e < indptr[i + 1]; e++)
                bound -= 0.5 * penalty[e] * q * marginal[indices[e]][c];
        }
    return bound;
}

}  // namespace

void bind_mixture(nb::module_ &m) {
    m.def("sum_components",
          [](In1<i64> start, In1<i64> n_cut, In1<i64> parent, In1<double> parent_penalty,
             In1<i64> edge_start, In1<i64> edge_cut, In1<i64> edge_node, In1<double> edge_penalty,
             In2<double> potential, Out1<double> sums, Out2<double> marginal) {
              const i64 n = potential.shape(0), k = potential.shape(1), m = n_cut.size();
              check(k > 0, "potential has no columns");
              check_starts(start, m, n, "start");
              check_starts(edge_start, m, edge_cut.size(), "edge_start");
              check_length(parent, n, "parent");
              check_length(parent_penalty, n, "parent_penalty");
              check_length(edge_node, edge_cut.size(), "edge_node");
              check_length(edge_penalty, edge_cut.size(), "edge_penalty");
              check_length(sums, m, "sums");
              check_shape(marginal, n, k, "marginal");
              for (i64 c = 0; c < m; c++) {
                  const i64 first = start.data()[c], size = start.data()[c + 1] - first;
                  const i64 cut = n_cut.data()[c], edges = edge_start.data()[c];
                  check(0 <= cut && cut <= size, "n_cut is larger than its component");
                  const i64 many = edge_start.data()[c + 1] - edges;
                  check_indices(edge_cut.data() + edges, many, 0, cut, "edge_cut");
                  check_indices(edge_node.data() + edges, many, 0, size, "edge_node");
                  for (i64 i = first + cut; i < first + size; i++) {
                      const i64 up = parent.data()[i];
                      check(up == -1 || (first + cut <= up && up < i), "parent must come first");
                  }
              }
              const Plan plan{array(start), array(n_cut), array(parent), array(parent_penalty),
                              array(edge_start), array(edge_cut), array(edge_node),
                              array(edge_penalty)};
              nb::gil_scoped_release free;
              std::vector<double> room(3 * n * k);
              const Forest forest{{room.data(), n, k}, {room.data() + n * k, n, k},
                                  {room.data() + 2 * n * k, n, k}};
              for (i64 c = 0; c < m; c++)
                  sums.data()[c] = sum_component(plan, c, table(potential), table(marginal), forest);
          },
          nb::arg("start"), nb::arg("n_cut"), nb::arg("parent"), nb::arg("parent_penalty"),
          nb::arg("edge_start"), nb::arg("edge_cut"), nb::arg("edge_node"), nb::arg("edge_penalty"),
          nb::arg("potential"), as_is("sums"), as_is("marginal"),
          "Log sum over the labelings of each component, and the marginals of its nodes.");
    m.def("mean_field",
          [](In1<i64> indptr, In1<i64> indices, In1<double> penalty, In2<double> potential,
             Out2<double> marginal, i64 max_sweeps, double tol) {
              const i64 n = potential.shape(0), k = potential.shape(1);
              check(k > 0, "potential has no columns");
              check_starts(indptr, n, indices.size(), "indptr");
              check_length(penalty, indices.size(), "penalty");
              check_indices(indices, n, "indices");
              check_shape(marginal, n, k, "marginal");
              nb::gil_scoped_release free;
              return mean_field(array(indptr), array(indices), array(penalty), table(potential),
                                table(marginal), max_sweeps, tol);
          },
          nb::arg("indptr"), nb::arg("indices"), nb::arg("penalty"), nb::arg("potential"),
          as_is("marginal"), nb::arg("max_sweeps"), nb::arg("tol"),
          "Fit independent labels to a graph of costs; returns the lower bound of the log sum.");
}

}  // namespace linkwise
