// Rows scaled to length one, products of pairs, the sweep of ITML: see linkwise/geometry.
#include <cmath>

#include "bindings.h"

namespace linkwise {
namespace {

// Rows of zeros stay as they are.
double reciprocal(double length) { return length > 0 ? 1.0 / length : 1.0; }

template <class X, class I>
void scale_rows_sparse(Csr<X, I> x, Array<const double> weights, i64 start, i64 stop,
                       Array<double> lengths, Array<X> out) {
    for (i64 i = start; i < stop; i++) {
        double total = 0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++)
            total += weights[x.indices[p]] * x.data[p] * x.data[p];
        lengths[i] = std::sqrt(total);
        const double by = reciprocal(lengths[i]);
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++) out[p] = X(x.data[p] * by);
    }
}

template <class X>
LINKWISE_CLONES void scale_rows_dense(Table<const X> x, Array<const double> weights, i64 start,
                                      i64 stop, Array<double> lengths, Table<X> out) {
    const i64 d = x.columns;
    for (i64 i = start; i < stop; i++) {
        const X *row = x[i];
        X *to = out[i];
        double total = 0;
        for (i64 f = 0; f < d; f++) total += weights[f] * row[f] * row[f];
        lengths[i] = std::sqrt(total);
        const double by = reciprocal(lengths[i]);
        for (i64 f = 0; f < d; f++) to[f] = X(row[f] * by);
    }
}

template <class X>
LINKWISE_CLONES void pair_products(Table<const X> x, Array<const i64> i, Array<const i64> j,
                                   Array<const double> weights, Array<double> out) {
    for (i64 e = 0; e < i.size; e++) {
        const X *a = x[i[e]], *b = x[j[e]];
        double total = 0;
        for (i64 f = 0; f < x.columns; f++) total += weights[f] * a[f] * b[f];
        out[e] = total;
    }
}

// Steps 3.1 to 3.8 of Algorithm 1 of ITML. With p = v' A v, a step alpha sets A <- A + beta A v v' A,
// beta = delta alpha / (1 - delta alpha p), so that 1 / p falls by delta alpha and 1 / xi rises by
// delta alpha / gamma; delta is 1 for a must-link and -1 for a cannot-link. They meet at alpha =
// delta gamma / (gamma + 1) (1 / p - 1 / xi). Step 3.4 as printed is that for gamma = 1.
LINKWISE_CLONES void itml_sweep(Table<double> A, Table<const double> V, Array<const bool> is_must,
                                Array<const double> gamma, Array<double> slack, Array<double> dual) {
    const i64 d = A.rows;
    std::vector<double> Av(d);
    for (i64 i = 0; i < V.rows; i++) {
        const double *v = V[i];
        double p = 0;
        for (i64 r = 0; r < d; r++) {
            const double *row = A[r];
            double total = 0;
            for (i64 q = 0; q < d; q++) total += row[q] * v[q];
            Av[r] = total;
            p += total * v[r];
        }
        if (p <= 0) continue;  // the rows coincide
        const double delta = is_must[i] ? 1.0 : -1.0;
        const double alpha =
            std::min(dual[i], delta * gamma[i] / (gamma[i] + 1.0) * (1.0 / p - 1.0 / slack[i]));
        const double beta = delta * alpha / (1.0 - delta * alpha * p);
        slack[i] = gamma[i] * slack[i] / (gamma[i] + delta * alpha * slack[i]);
        dual[i] -= alpha;
        for (i64 r = 0; r < d; r++) {
            const double scaled = beta * Av[r];
            double *row = A[r];
            for (i64 q = 0; q < d; q++) row[q] += scaled * Av[q];
        }
    }
}

template <class X, class I> void bind_scale_sparse(nb::module_ &m) {
    m.def("scale_rows_sparse",
          [](In1<X> data, In1<I> indices, In1<I> indptr, In1<double> weights, i64 start, i64 stop,
             Out1<double> lengths, Out1<X> out) {
              const auto x = csr(data, indices, indptr, i64(weights.size()), start, stop);
              check_range(start, stop, x.rows());
              check_length(lengths, x.rows(), "lengths");
              check_length(out, x.data.size, "out");
              nb::gil_scoped_release free;
              scale_rows_sparse(x, array(weights), start, stop, array(lengths), array(out));
          },
          as_is("data"), as_is("indices"), as_is("indptr"), nb::arg("weights"), nb::arg("start"),
          nb::arg("stop"), as_is("lengths"), as_is("out"),
          "Divide rows start..stop of a CSR matrix by their lengths under a diagonal metric.");
}

template <class X> void bind_dense(nb::module_ &m) {
    m.def("scale_rows_dense",
          [](In2<X> x, In1<double> weights, i64 start, i64 stop, Out1<double> lengths, Out2<X> out) {
              const i64 n = x.shape(0), d = x.shape(1);
              check_range(start, stop, n);
              check_length(weights, d, "weights");
              check_length(lengths, n, "lengths");
              check_shape(out, n, d, "out");
              nb::gil_scoped_release free;
              scale_rows_dense(table(x), array(weights), start, stop, array(lengths), table(out));
          },
          as_is("X"), nb::arg("weights"), nb::arg("start"), nb::arg("stop"), as_is("lengths"),
          as_is("out"), "`scale_rows_sparse` for dense rows.");
    m.def("pair_products",
          [](In2<X> x, In1<i64> i, In1<i64> j, In1<double> weights, Out1<double> out) {
              check_length(weights, x.shape(1), "weights");
              check_length(j, i.size(), "j");
              check_length(out, i.size(), "out");
              check_indices(i, x.shape(0), "i");
              check_indices(j, x.shape(0), "j");
              nb::gil_scoped_release free;
              pair_products(table(x), array(i), array(j), array(weights), array(out));
          },
          as_is("X"), nb::arg("i"), nb::arg("j"), nb::arg("weights"), as_is("out"),
          "Inner products of pairs of rows under a diagonal metric.");
}

}  // namespace

void bind_geometry(nb::module_ &m) {
    bind_scale_sparse<double, i32>(m);
    bind_scale_sparse<double, i64>(m);
    bind_scale_sparse<float, i32>(m);
    bind_scale_sparse<float, i64>(m);
    bind_dense<double>(m);
    bind_dense<float>(m);
    m.def("itml_sweep",
          [](Out2<double> A, In2<double> V, In1<bool> is_must, In1<double> gamma, Out1<double> slack,
             Out1<double> dual) {
              const i64 links = V.shape(0), d = V.shape(1);
              check_shape(A, d, d, "A");
              check_length(is_must, links, "is_must");
              check_length(gamma, links, "gamma");
              check_length(slack, links, "slack");
              check_length(dual, links, "dual");
              nb::gil_scoped_release free;
              itml_sweep(table(A), table(V), array(is_must), array(gamma), array(slack), array(dual));
          },
          as_is("A"), nb::arg("V"), nb::arg("is_must"), nb::arg("gamma"), as_is("slack"),
          as_is("dual"), "Project a metric onto each constraint once.");
}

}  // namespace linkwise
