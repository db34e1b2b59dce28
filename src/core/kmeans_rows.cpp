// Passes over rows: sums of columns, extreme rows, moves between clusters; sparse rows to their
// cheapest cluster. See linkwise/kmeans/rows.
//
//     cost[c] = bias[c] + sum_f x_f (slope[f, c] + curve[f, c] x_f)
//
// up to a term that is the same for all clusters.
#include "kmeans_rows.h"

#include <cmath>

namespace linkwise {
namespace {

template <class X>
LINKWISE_CLONES void column_sums(Table<const X> x, Array<const double> pilot, Array<const double> weight,
                                 i64 start, i64 stop, double *__restrict sums,
                                 double *__restrict squares, double *__restrict most) {
    for (i64 i = start; i < stop; i++) {
        const X *row = x[i];
        const double w = weight_of(weight, i);
        for (i64 f = 0; f < x.columns; f++) {
            const double size = std::abs(double(row[f])), away = row[f] - pilot[f];
            most[f] = size > most[f] ? size : most[f];
            sums[f] += w * away;
            squares[f] += w * away * away;
        }
    }
}

template <class X>
LINKWISE_CLONES void outermost(Table<const X> x, Array<const double> shift, Array<const double> scale,
                               i64 start, i64 stop, Array<double> norm, Array<i64> low, Array<i64> high) {
    std::fill(low.begin(), low.end(), start);
    std::fill(high.begin(), high.end(), start);
    std::vector<X> least(x[start], x[start] + x.columns), most(least);
    for (i64 i = start; i < stop; i++) {
        const X *row = x[i];
        double total = 0;
        for (i64 f = 0; f < x.columns; f++) {
            const double away = row[f] - shift[f];
            total += away * away / scale[f];
        }
        for (i64 f = 0; f < x.columns; f++) {
            if (row[f] < least[f]) least[f] = row[f], low[f] = i;
            if (row[f] > most[f]) most[f] = row[f], high[f] = i;
        }
        norm[i] = total;
    }
}

template <class X>
LINKWISE_CLONES void move_dense(Table<const X> x, Array<const double> shift, Array<const i64> rows,
                                Array<const i32> old, Array<const i32> now, Array<const double> weight,
                                const Moments &moments) {
    std::vector<double> z(x.columns);
    for (i64 t = 0; t < rows.size; t++) {
        if (old[t] == now[t]) continue;
        const X *row = x[rows[t]];
        for (i64 f = 0; f < x.columns; f++) z[f] = row[f] - shift[f];
        moments.move(z.data(), weight_of(weight, rows[t]), old[t], now[t]);
    }
}

template <class X>
LINKWISE_CLONES void similarity_squares_dense(Table<const X> x, Array<const i32> labels,
                                              Table<const double> directions, Array<const double> weight,
                                              i64 start, i64 stop, double *__restrict out) {
    for (i64 i = start; i < stop; i++) {
        if (labels[i] < 0) continue;
        const X *row = x[i];
        const double *direction = directions[labels[i]];
        double similarity = 0;
        for (i64 f = 0; f < x.columns; f++) similarity += row[f] * direction[f];
        similarity *= weight_of(weight, i);
        for (i64 f = 0; f < x.columns; f++) out[f] += similarity * row[f] * row[f];
    }
}

// Rows that links might move, given their costs; updates bounds on distances, if there are any.
LINKWISE_CLONES void undecided_rows(Table<const double> cost, Array<const double> slack,
                                    Array<const i32> labels, double beyond, double margin, i64 start,
                                    i64 stop, Array<i32> known, Array<double> upper, Array<double> lower,
                                    Array<bool> undecided) {
    for (i64 i = start; i < stop; i++) {
        const i64 a = labels[i];
        const double *here = cost[i];
        double other = infinity;
        for (i64 c = 0; c < cost.columns; c++) other = c != a && here[c] < other ? here[c] : other;
        undecided[i] = !(here[a] + slack[i] < other);
        if (!known) continue;
        known[i] = i32(a);
        const double own = std::max(here[a], 0.0), error = margin * (own + beyond);
        upper[i] = std::sqrt(own + error);
        lower[i] = std::sqrt(std::max(other - error, 0.0));
    }
}

// -------------------------------------------------------------------- sparse rows

template <class T> struct CostForm {
    Table<const T> slope, curve;  // (d, k); curve may be empty
    Array<const T> bias, own;     // (k,); (d,) or empty: the term that all clusters share
};

// Costs of one row; returns the term that all clusters share.
template <class X, class I, class T>
inline T row_costs(const Csr<X, I> &x, i64 i, const CostForm<T> &form, T *__restrict cost) {
    const i64 k = form.bias.size;
    T shared = 0;
    for (i64 c = 0; c < k; c++) cost[c] = form.bias[c];
    for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++) {
        const i64 f = x.indices[p];
        const T value = x.data[p], *slope = form.slope[f];
        if (form.own) shared += form.own[f] * value * value;
        if (form.curve.rows) {
            const T *curve = form.curve[f];
            for (i64 c = 0; c < k; c++) cost[c] += value * (slope[c] + curve[c] * value);
        } else {
            for (i64 c = 0; c < k; c++) cost[c] += value * slope[c];
        }
    }
    return shared;
}

template <class X, class I>
void move_row(const Csr<X, I> &x, i64 i, double w, i64 old, i64 now, const Moments &moments) {
    for (const auto &[c, by] : {std::pair(old, -w), std::pair(now, w)}) {
        if (c < 0) continue;
        moments.counts[c] += by;
        double *sum = moments.sums[c];
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++) sum[x.indices[p]] += by * x.data[p];
        if (!moments.squares) continue;
        double *square = &moments.squares[c * moments.depth * moments.sums.columns];
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++)
            square[x.indices[p]] += by * x.data[p] * x.data[p];
    }
}

template <class X, class I, class T>
LINKWISE_CLONES i64 assign_sparse(const Csr<X, I> &x, const CostForm<T> &form, Array<i32> labels,
                                  Array<const bool> pinned, Array<const double> weight, i64 start,
                                  i64 stop, const Moments &moments) {
    const i64 k = form.bias.size;
    std::vector<T> cost(k);
    i64 n_moved = 0;
    for (i64 i = start; i < stop; i++) {
        if (pinned[i]) continue;
        row_costs(x, i, form, cost.data());
        const i64 best = std::min_element(cost.begin(), cost.end()) - cost.begin();
        if (labels[i] == best) continue;
        if (moments.counts) move_row(x, i, weight_of(weight, i), labels[i], best, moments);
        labels[i] = i32(best);
        n_moved++;
    }
    return n_moved;
}

template <class X, class I>
LINKWISE_CLONES void costs_sparse(const Csr<X, I> &x, Array<const i64> rows, const CostForm<double> &form,
                                  Table<double> out) {
    for (i64 t = 0; t < rows.size; t++) {
        double *cost = out[t];
        const double shared = row_costs(x, rows[t], form, cost);
        for (i64 c = 0; c < out.columns; c++) cost[c] += shared;
    }
}

template <class X, class I>
void move_sparse(const Csr<X, I> &x, Array<const i64> rows, Array<const i32> old, Array<const i32> now,
                 Array<const double> weight, const Moments &moments) {
    for (i64 t = 0; t < rows.size; t++)
        if (old[t] != now[t]) move_row(x, rows[t], weight_of(weight, rows[t]), old[t], now[t], moments);
}

template <class X, class I>
void similarity_squares_sparse(const Csr<X, I> &x, Array<const i32> labels, Table<const double> directions,
                               Array<const double> weight, i64 start, i64 stop, Array<double> out) {
    for (i64 i = start; i < stop; i++) {
        if (labels[i] < 0) continue;
        const double *direction = directions[labels[i]];
        double similarity = 0;
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++) similarity += x.data[p] * direction[x.indices[p]];
        similarity *= weight_of(weight, i);
        for (i64 p = x.indptr[i]; p < x.indptr[i + 1]; p++)
            out[x.indices[p]] += similarity * x.data[p] * x.data[p];
    }
}

// -------------------------------------------------------------------- bindings

// linkwise.kmeans CostForm, checked.
template <class T> struct GivenForm {
    In2<T> slope, curve;
    In1<T> bias, own;
    GivenForm(nb::handle given)
        : slope(item<In2<T>>(given, 0, false)), curve(item<In2<T>>(given, 1, false)),
          bias(item<In1<T>>(given, 2, false)), own(item<In1<T>>(given, 3, false)) {
        check(bias.size() > 0, "bias is empty");
        check_shape(slope, i64(slope.shape(0)), i64(bias.size()), "slope");
        if (curve.size()) check_shape(curve, i64(slope.shape(0)), i64(bias.size()), "curve");
        if (own.size()) check_length(own, i64(slope.shape(0)), "own");
    }
    static bool fits(nb::handle given) { return nb::isinstance<In1<T>>(nb::handle(given)[nb::int_(2)]); }
    CostForm<T> form() const {
        return {table(slope), curve.size() ? table(curve) : Table<const T>{}, array(bias), array(own)};
    }
    i64 d() const { return i64(slope.shape(0)); }
    i64 k() const { return i64(bias.size()); }
};

void check_moves(const In1<i64> &rows, const In1<i32> &old, const In1<i32> &now,
                 const In1<double> &weight, i64 n, i64 k) {
    check_indices(rows, n, "rows");
    check_length(old, i64(rows.size()), "old");
    check_length(now, i64(rows.size()), "new");
    check_indices(old, k, "old", -1);
    check_indices(now, k, "new", -1);
    check_weight(weight, n);
}

void check_labels(const In1<i32> &labels, i64 n, i64 k, i64 start, i64 stop) {
    check_range(start, stop, n);
    check_length(labels, n, "labels");
    check_indices(labels.data() + start, stop - start, -1, k, "labels");
}

template <class X> void bind_dense(nb::module_ &m) {
    m.def("column_sums",
          [](In2<X> x, In1<double> pilot, In1<double> weight, i64 start, i64 stop, Out1<double> sums,
             Out1<double> squares, Out1<double> most) {
              const i64 n = x.shape(0), d = x.shape(1);
              check_range(start, stop, n);
              check_weight(weight, n);
              check_length(pilot, d, "pilot");
              check_length(sums, d, "sums");
              check_length(squares, d, "squares");
              check_length(most, d, "most");
              nb::gil_scoped_release free;
              column_sums(table(x), array(pilot), array(weight), start, stop, sums.data(), squares.data(), most.data());
          },
          as_is("X"), nb::arg("pilot"), nb::arg("weight"), nb::arg("start"), nb::arg("stop"),
          as_is("sums"), as_is("squares"), as_is("most"),
          "Add to the weighted sums and squares of the columns about a pilot; largest |x| of each.");
    m.def("outermost",
          [](In2<X> x, In1<double> shift, In1<double> scale, i64 start, i64 stop, Out1<double> norm,
             Out1<i64> low, Out1<i64> high) {
              const i64 n = x.shape(0), d = x.shape(1);
              check_range(start, stop, n);
              check(start < stop, "there are no rows");
              check_length(shift, d, "shift");
              check_length(scale, d, "scale");
              check_length(norm, n, "norm");
              check_length(low, d, "low");
              check_length(high, d, "high");
              nb::gil_scoped_release free;
              outermost(table(x), array(shift), array(scale), start, stop, array(norm), array(low), array(high));
          },
          as_is("X"), nb::arg("shift"), nb::arg("scale"), nb::arg("start"), nb::arg("stop"),
          as_is("norm"), as_is("low"), as_is("high"),
          "Squared length of each row, features divided by their scale; rows with extreme values.");
    m.def("move_dense",
          [](In2<X> x, In1<double> shift, In1<i64> rows, In1<i32> old, In1<i32> now, In1<double> weight,
             nb::tuple moments) {
              const GivenMoments given(moments, x.shape(1));
              check_length(shift, x.shape(1), "shift");
              check_moves(rows, old, now, weight, x.shape(0), given.k());
              nb::gil_scoped_release free;
              move_dense<X>(table(x), array(shift), array(rows), array(old), array(now), array(weight), given);
          },
          as_is("X"), nb::arg("shift"), nb::arg("rows"), nb::arg("old"), nb::arg("new"),
          nb::arg("weight"), nb::arg("moments"), "Move rows from old clusters to new ones in the moments.");
    m.def("similarity_squares_dense",
          [](In2<X> x, In1<i32> labels, In2<double> directions, In1<double> weight, i64 start, i64 stop,
             Out1<double> out) {
              const i64 n = x.shape(0), d = x.shape(1), k = directions.shape(0);
              check_labels(labels, n, k, start, stop);
              check_shape(directions, k, d, "directions");
              check_weight(weight, n);
              check_length(out, d, "out");
              nb::gil_scoped_release free;
              similarity_squares_dense(table(x), array(labels), table(directions), array(weight), start, stop, out.data());
          },
          as_is("X"), nb::arg("labels"), nb::arg("directions"), nb::arg("weight"), nb::arg("start"),
          nb::arg("stop"), as_is("out"), "`similarity_squares_sparse` for dense rows.");
}

template <class X, class I> void bind_sparse(nb::module_ &m) {
    m.def("assign_sparse",
          [](In1<X> data, In1<I> indices, In1<I> indptr, nb::tuple form, Out1<i32> labels, In1<bool> pinned,
             In1<double> weight, i64 start, i64 stop, nb::tuple moments) {
              const auto run = [&]<class T>(const GivenForm<T> &given) {
                  const auto x = csr(data, indices, indptr, given.d(), start, stop);
                  const GivenMoments sums(moments, given.d(), given.k());
                  check_labels(In1<i32>(labels), x.rows(), given.k(), start, stop);
                  check_length(pinned, x.rows(), "pinned");
                  check_weight(weight, x.rows());
                  nb::gil_scoped_release free;
                  return assign_sparse<X, I, T>(x, given.form(), array(labels), array(pinned), array(weight), start, stop, sums);
              };
              if constexpr (std::is_same_v<X, float>)
                  if (GivenForm<float>::fits(form)) return run(GivenForm<float>(form));
              return run(GivenForm<double>(form));
          },
          as_is("data"), as_is("indices"), as_is("indptr"), nb::arg("form"), as_is("labels"),
          nb::arg("pinned"), nb::arg("weight"), nb::arg("start"), nb::arg("stop"), nb::arg("moments"),
          "`assign_dense` for rows of a CSR matrix (no shift: zeros stay zeros).");
    m.def("costs_sparse",
          [](In1<X> data, In1<I> indices, In1<I> indptr, In1<i64> rows, nb::tuple form, Out2<double> out) {
              const GivenForm<double> given(form);
              const auto x = csr_of(data, indices, indptr, given.d(), rows);
              check_shape(out, i64(rows.size()), given.k(), "out");
              nb::gil_scoped_release free;
              costs_sparse(x, array(rows), given.form(), table(out));
          },
          as_is("data"), as_is("indices"), as_is("indptr"), nb::arg("rows"), nb::arg("form"),
          as_is("out"), "`costs_dense` for rows of a CSR matrix.");
    m.def("move_sparse",
          [](In1<X> data, In1<I> indices, In1<I> indptr, In1<i64> rows, In1<i32> old, In1<i32> now,
             In1<double> weight, nb::tuple moments) {
              const i64 d = item<Out2<double>>(moments, 1, false).shape(1);
              const GivenMoments given(moments, d);
              const auto x = csr_of(data, indices, indptr, d, rows);
              check_moves(rows, old, now, weight, x.rows(), given.k());
              nb::gil_scoped_release free;
              move_sparse<X, I>(x, array(rows), array(old), array(now), array(weight), given);
          },
          as_is("data"), as_is("indices"), as_is("indptr"), nb::arg("rows"), nb::arg("old"),
          nb::arg("new"), nb::arg("weight"), nb::arg("moments"), "`move_dense` for rows of a CSR matrix.");
    m.def("similarity_squares_sparse",
          [](In1<X> data, In1<I> indices, In1<I> indptr, In1<i32> labels, In2<double> directions,
             In1<double> weight, i64 start, i64 stop, Out1<double> out) {
              const auto x = csr(data, indices, indptr, directions.shape(1), start, stop);
              check_labels(labels, x.rows(), directions.shape(0), start, stop);
              check_weight(weight, x.rows());
              check_length(out, directions.shape(1), "out");
              nb::gil_scoped_release free;
              similarity_squares_sparse(x, array(labels), table(directions), array(weight), start, stop, array(out));
          },
          as_is("data"), as_is("indices"), as_is("indptr"), nb::arg("labels"), nb::arg("directions"),
          nb::arg("weight"), nb::arg("start"), nb::arg("stop"), as_is("out"),
          "Add squares of each row times its similarity to the direction of its cluster.");
}

}  // namespace

void bind_kmeans_rows(nb::module_ &m) {
    bind_dense<double>(m);
    bind_dense<float>(m);
    bind_sparse<double, i32>(m);
    bind_sparse<double, i64>(m);
    bind_sparse<float, i32>(m);
    bind_sparse<float, i64>(m);
    m.def("undecided_rows",
          [](In2<double> cost, In1<double> slack, In1<i32> labels, double beyond, double margin, i64 start,
             i64 stop, Out1<i32> known, Out1<double> upper, Out1<double> lower, Out1<bool> undecided) {
              const i64 n = cost.shape(0);
              check_range(start, stop, n);
              check_length(slack, n, "slack");
              check_length(labels, n, "labels");
              check_indices(labels.data() + start, stop - start, 0, cost.shape(1), "labels");
              check_length(undecided, n, "undecided");
              if (known.size()) {
                  check_length(known, n, "known");
                  check_length(upper, n, "upper");
                  check_length(lower, n, "lower");
              }
              nb::gil_scoped_release free;
              undecided_rows(table(cost), array(slack), array(labels), beyond, margin, start, stop, array(known),
                             array(upper), array(lower), array(undecided));
          },
          nb::arg("cost"), nb::arg("slack"), nb::arg("labels"), nb::arg("beyond"), nb::arg("margin"),
          nb::arg("start"), nb::arg("stop"), as_is("known"), as_is("upper"), as_is("lower"),
          as_is("undecided"), "Mark rows that links could move, given their costs; updates bounds.");
}

}  // namespace linkwise
