// Dense rows and centers: costs and the cheapest clusters by matrix products (nearest.h), Hamerly's
// bounds on distances, costs under full metrics. See linkwise/kmeans/rows.
#include <cmath>

#include "kmeans_rows.h"
#include "nearest.h"

namespace linkwise {
namespace {

// -------------------------------------------------------------------- products

// The instruction sets that this machine has, the fastest last.
std::vector<const Engine *> engines() {
    std::vector<const Engine *> known{&engine_baseline};
#ifdef LINKWISE_X86
    __builtin_cpu_init();
    const auto has = [](auto... feature) { return (feature && ...); };
    if (!has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi2"))) return known;
    known.push_back(&engine_avx2);
    if (has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512cd"),
            __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl")))
        known.push_back(&engine_avx512);
#endif
    return known;
}

const Engine *engine = engines().back();

// For tests: the same results, but for rounding, on every instruction set that this machine has.
void use_engine(const std::string &name) {
    for (const Engine *one : engines())
        if (one->name == name) {
            engine = one;
            return;
        }
    check(false, "this machine has no " + name);
}

// Packed centers and room of one call.
template <class T> class Search {
  public:
    Search(Table<const T> form, const T *bias) {
        if constexpr (sizeof(T) == 4) packed = used->pack_f(form.data, bias, int(form.rows), int(form.columns));
        else packed = used->pack_d(form.data, bias, int(form.rows), int(form.columns));
        i64 bytes;
        if constexpr (sizeof(T) == 4) bytes = used->room_f(packed);
        else bytes = used->room_d(packed);
        room = aligned<char>(bytes);
    }
    Search(const Search &) = delete;
    ~Search() { release(packed.form), release(packed.bias), release(room); }

    template <class X> void operator()(const Block<X, T> &b, const Nearest<T> &out) const {
        if constexpr (sizeof(T) == 4) used->nearest_ff(b, packed, out, room);
        else if constexpr (sizeof(X) == 4) used->nearest_fd(b, packed, out, room);
        else used->nearest_dd(b, packed, out, room);
    }

  private:
    const Engine *used = engine;
    Packed<T> packed;
    void *room = nullptr;
};

// Rows that are looked at together; results of rows beyond the last are not read.
template <class X, class T> struct Tile {
    const X *row[max_rows];
    i64 number[max_rows];
    alignas(64) T least[max_rows], other[max_rows], norm[max_rows];
    i32 best[max_rows];
    int m = 0;
    void add(const X *x, i64 i) { row[m] = x, number[m++] = i; }
    // Costs become bounds on distances, given their relative rounding error; all rows, so that it
    // vectorizes.
    void to_distances(T margin) {
        for (int r = 0; r < max_rows; r++) {
            const T error = margin * (norm[r] + std::abs(least[r]));
            const T near = least[r] + norm[r], far = other[r] + norm[r] - error;
            least[r] = std::sqrt((near > 0 ? near : 0) + error);
            other[r] = std::sqrt(far > 0 ? far : 0);
        }
    }
};

// -------------------------------------------------------------------- Hamerly's bounds

// How much bounds must be loosened after an update.
template <class T> struct Drift {
    double stretch, shrink;
    Array<const T> moved;  // (k,)
    double most, second;
    i64 which;
    double others(i64 label) const { return label == which ? second : most; }
};

template <class T> struct Bounds {
    Array<const T> own;
    Table<const T> centers;
    double margin;
    Drift<T> drift;
    Array<T> upper, lower;
};

// Whether bounds show that row i keeps its cluster; loosens and tightens them.
template <class X, class T>
inline bool is_settled(const X *x, const T *shift, i64 i, i64 label, const Bounds<T> &b) {
    b.upper[i] = T(b.upper[i] * b.drift.stretch + b.drift.moved[label]);
    b.lower[i] = T(b.lower[i] * b.drift.shrink - b.drift.others(label));
    if (b.upper[i] < b.lower[i]) return true;
    T total = 0;
    const T *center = b.centers[label], *own = b.own.data;
    for (i64 f = 0; f < b.own.size; f++) {
        const T step = T(x[f]) - shift[f] - center[f];
        total += own[f] * step * step;
    }
    b.upper[i] = T(std::sqrt(total * (1.0 + b.margin)));  // rounded up
    return b.upper[i] < b.lower[i];
}

// -------------------------------------------------------------------- the nearest center

// Rows of a tile whose cluster changes; z has room for a row.
template <class X, class T>
i64 relabel(const Tile<X, T> &tile, const T *shift, Array<i32> labels, Array<const double> weight,
            const Moments &moments, std::vector<T> &z) {
    i64 n_moved = 0;
    for (int r = 0; r < tile.m; r++) {
        const i64 j = tile.number[r];
        if (labels[j] == tile.best[r]) continue;
        if (moments.counts) {
            for (std::size_t f = 0; f < z.size(); f++) z[f] = T(tile.row[r][f]) - shift[f];
            moments.move(z.data(), weight_of(weight, j), labels[j], tile.best[r]);
        }
        labels[j] = tile.best[r];
        n_moved++;
    }
    return n_moved;
}

template <class X, class T>
LINKWISE_CLONES i64 assign_dense(Table<const X> x, Array<const T> shift, Table<const T> form,
                                 Array<const T> bias, Array<i32> labels, Array<const bool> pinned,
                                 Array<const double> weight, const Bounds<T> *bounds, i64 start,
                                 i64 stop, const Moments &moments) {
    const Search<T> search(form, bias.data);
    Tile<X, T> tile;
    std::vector<T> z(x.columns);
    const Nearest<T> out{tile.least, bounds ? tile.other : nullptr, tile.best,
                         bounds ? tile.norm : nullptr, bounds ? bounds->own.data : nullptr, nullptr};
    i64 n_moved = 0;
    for (i64 i = start; i < stop;) {
        tile.m = 0;
        for (; i < stop && tile.m < max_rows; i++) {
            if (pinned[i]) continue;
            if (bounds && labels[i] >= 0 && is_settled(x[i], shift.data, i, labels[i], *bounds)) continue;
            tile.add(x[i], i);
        }
        if (!tile.m) break;
        search(Block<X, T>{tile.row, tile.m, int(x.columns), shift.data}, out);
        if (bounds) {
            tile.to_distances(T(bounds->margin));
            for (int r = 0; r < tile.m; r++) {
                bounds->upper[tile.number[r]] = tile.least[r];
                bounds->lower[tile.number[r]] = tile.other[r];
            }
        }
        n_moved += relabel(tile, shift.data, labels, weight, moments, z);
    }
    return n_moved;
}

template <class X>
void costs_dense(Table<const X> x, Array<const double> shift, Array<const i64> rows,
                 Table<const double> form, Array<const double> bias, Array<const double> own,
                 Table<double> out) {
    const Search<double> search(form, bias.data);
    Tile<X, double> tile;
    for (i64 first = 0; first < rows.size; first += max_rows) {
        tile.m = 0;
        for (i64 t = first; t < rows.size && tile.m < max_rows; t++) tile.add(x[rows[t]], t);
        search(Block<X, double>{tile.row, tile.m, int(x.columns), shift.data},
               Nearest<double>{tile.least, nullptr, tile.best, own ? tile.norm : nullptr, own.data, out[first]});
        for (int r = 0; own && r < tile.m; r++)
            for (double &cost : out.row(first + r)) cost += tile.norm[r];
    }
}

// Rows that links might move, by bounds and by costs with a known rounding error. Rows are positions
// in `chosen`. The distance to the own center is not computed anew: to fetch a row takes as long as
// all of its distances.
template <class X>
void undecided_dense(Table<const X> x, Array<const X> shift, Array<const i64> chosen, Table<const X> form,
                     Array<const X> bias, Array<const X> own, double beyond, double margin,
                     Array<const i32> labels, Array<const double> slack, Array<i32> known,
                     const Drift<double> &drift, Array<double> upper, Array<double> lower, i64 start,
                     i64 stop, Array<bool> undecided) {
    const i64 k = form.rows;
    const Search<X> search(form, bias.data);
    std::vector<X> cost(max_rows * k);
    Tile<X, X> tile;
    for (i64 i = start; i < stop;) {
        tile.m = 0;
        for (; i < stop && tile.m < max_rows; i++) {
            const i64 a = labels[i];
            undecided[i] = false;
            if (upper) {
                upper[i] = upper[i] * drift.stretch + drift.moved[a];
                lower[i] = std::max(lower[i] * drift.shrink - drift.others(a), 0.0);
                if (a == known[i] && upper[i] * upper[i] + slack[i] < lower[i] * lower[i]) continue;
            }
            tile.add(x[chosen[i]], i);
        }
        if (!tile.m) break;
        search(Block<X, X>{tile.row, tile.m, int(x.columns), shift.data},
               Nearest<X>{tile.least, tile.other, tile.best, tile.norm, own.data, cost.data()});
        for (int r = 0; r < tile.m; r++) {
            const i64 j = tile.number[r], a = labels[j];
            const double norm = tile.norm[r], mine = norm + cost[r * k + a];
            const double rest = norm + (tile.best[r] == a ? tile.other[r] : tile.least[r]);
            const double error = margin * (std::abs(mine) + norm + beyond);
            undecided[j] = !(mine + slack[j] + 2.0 * error < rest);
            if (!upper) continue;
            known[j] = i32(a);
            upper[j] = std::sqrt(std::max(mine, 0.0) + error);
            lower[j] = std::sqrt(std::max(rest - error, 0.0));
        }
    }
}

template <class X>
LINKWISE_CLONES void own_costs_dense(Table<const X> x, Array<const double> shift, Array<const i64> rows,
                                     Array<const i32> labels, Table<const double> form,
                                     Array<const double> bias, Array<const double> own, Array<double> out) {
    const i64 d = x.columns;
    const bool curved = form.columns > d;
    for (i64 t = 0; t < rows.size; t++) {
        const X *row = x[rows[t]];
        const double *slope = form[labels[t]];
        double total = bias[labels[t]];
        for (i64 f = 0; f < d; f++) {
            const double z = row[f] - shift[f];
            total += z * slope[f];
            if (curved) total += z * z * slope[d + f];
            if (own) total += own[f] * z * z;
        }
        out[t] = total;
    }
}

template <class X>
LINKWISE_CLONES void point_distances(Table<const X> x, Array<const double> shift, Table<const double> points,
                                     i64 start, i64 stop, Table<double> out) {
    const i64 d = x.columns;
    std::vector<double> z(d);
    for (i64 i = start; i < stop; i++) {
        for (i64 f = 0; f < d; f++) z[f] = x[i][f] - shift[f];
        for (i64 t = 0; t < points.rows; t++) {
            const double *point = points[t];
            double total = 0;
            for (i64 f = 0; f < d; f++) total += (z[f] - point[f]) * (z[f] - point[f]);
            out[t][i] = total;
        }
    }
}

// -------------------------------------------------------------------- full metrics of each cluster

// cost[c] = |F_c z - o_c|^2 + bias[c]: the rows of all F_c are the "centers" of one product.
template <class X> class Mixed {
  public:
    Mixed(Table<const X> x, Array<const double> shift, const double *factors, Table<const double> offsets,
          Array<const double> bias)
        : x(x), shift(shift), bias(bias), minus(offsets.data, offsets.data + offsets.rows * x.columns),
          image(max_rows * offsets.rows * x.columns), cost(max_rows * offsets.rows) {
        for (double &value : minus) value = -value;
        search.emplace(Table<const double>{factors, offsets.rows * x.columns, x.columns}, minus.data());
    }
    // Costs of the rows of a tile, (m, k).
    const double *operator()(Tile<X, double> &tile) {
        const i64 d = x.columns, k = bias.size;
        (*search)(Block<X, double>{tile.row, tile.m, int(d), shift.data},
                  Nearest<double>{tile.least, nullptr, tile.best, nullptr, nullptr, image.data()});
        for (i64 t = 0; t < tile.m * k; t++) {
            const double *away = &image[t * d];
            double total = bias[t % k];
            for (i64 f = 0; f < d; f++) total += away[f] * away[f];
            cost[t] = total;
        }
        return cost.data();
    }

  private:
    Table<const X> x;
    Array<const double> shift, bias;
    std::vector<double> minus, image, cost;
    std::optional<Search<double>> search;
};

template <class X>
i64 assign_mixed(Table<const X> x, Array<const double> shift, const double *factors,
                 Table<const double> offsets, Array<const double> bias, Array<i32> labels,
                 Array<const bool> pinned, Array<const double> weight, i64 start, i64 stop,
                 const Moments &moments) {
    const i64 k = bias.size;
    Mixed<X> costs(x, shift, factors, offsets, bias);
    Tile<X, double> tile;
    std::vector<double> z(x.columns);
    i64 n_moved = 0;
    for (i64 i = start; i < stop;) {
        tile.m = 0;
        for (; i < stop && tile.m < max_rows; i++)
            if (!pinned[i]) tile.add(x[i], i);
        if (!tile.m) break;
        const double *cost = costs(tile);
        for (int r = 0; r < tile.m; r++, cost += k) tile.best[r] = i32(std::min_element(cost, cost + k) - cost);
        n_moved += relabel(tile, shift.data, labels, weight, moments, z);
    }
    return n_moved;
}

template <class X>
void costs_mixed(Table<const X> x, Array<const double> shift, Array<const i64> rows, const double *factors,
                 Table<const double> offsets, Array<const double> bias, Table<double> out) {
    Mixed<X> costs(x, shift, factors, offsets, bias);
    Tile<X, double> tile;
    for (i64 first = 0; first < rows.size; first += max_rows) {
        tile.m = 0;
        for (i64 t = first; t < rows.size && tile.m < max_rows; t++) tile.add(x[rows[t]], t);
        std::copy_n(costs(tile), tile.m * bias.size, out[first]);
    }
}

// -------------------------------------------------------------------- bindings

template <class T> struct GivenDrift {
    In1<T> moved;
    Drift<T> drift;
    explicit GivenDrift(nb::handle given) : moved(item<In1<T>>(given, 2)) {
        drift = {item<double>(given, 0), item<double>(given, 1), array(moved),
                 item<double>(given, 3), item<double>(given, 4), item<i64>(given, 5)};
    }
};

template <class T> struct GivenBounds {
    In1<T> own;
    In2<T> centers;
    GivenDrift<T> drift;
    Out1<T> upper, lower;
    Bounds<T> bounds;
    GivenBounds(nb::handle given, i64 n, i64 d, i64 k)
        : own(item<In1<T>>(given, 0)), centers(item<In2<T>>(given, 1)), drift(nb::object(given[nb::int_(3)])),
          upper(item<Out1<T>>(given, 4, false)), lower(item<Out1<T>>(given, 5, false)) {
        check_length(own, d, "own");
        check_shape(centers, k, d, "centers");
        check_length(drift.moved, k, "moved");
        check_length(upper, n, "upper");
        check_length(lower, n, "lower");
        bounds = {array(own), table(centers), item<double>(given, 2), drift.drift, array(upper), array(lower)};
    }
};

template <class T> void check_form(const In2<T> &form, const In1<T> &bias, const In1<T> &shift, i64 d) {
    check_length(shift, d, "shift");
    check(i64(form.shape(1)) == d || i64(form.shape(1)) == 2 * d, "form must have d or 2 d columns");
    check(form.shape(0) > 0, "there are no clusters");
    check_length(bias, form.shape(0), "bias");
}

void check_free(const Out1<i32> &labels, const In1<bool> &pinned, const In1<double> &weight, i64 n, i64 k,
                i64 start, i64 stop) {
    check_range(start, stop, n);
    check_length(labels, n, "labels");
    check_indices(labels.data() + start, stop - start, -1, k, "labels");
    check_length(pinned, n, "pinned");
    check_weight(weight, n);
}

void check_factors(const In3<double> &factors, const In2<double> &offsets, const In1<double> &bias,
                   const In1<double> &shift, i64 d) {
    const i64 k = bias.size();
    check(k > 0, "there are no clusters");
    check_length(shift, d, "shift");
    check_shape(offsets, k, d, "offsets");
    check(i64(factors.shape(0)) == k && i64(factors.shape(1)) == d && i64(factors.shape(2)) == d,
          "factors must be (k, d, d)");
}

template <class X, class T> void bind_assign(nb::module_ &m) {
    m.def("assign_dense",
          [](In2<X> x, In1<T> shift, In2<T> form, In1<T> bias, Out1<i32> labels, In1<bool> pinned,
             In1<double> weight, nb::object bounds, i64 start, i64 stop, nb::tuple moments) {
              const i64 n = x.shape(0), d = x.shape(1), k = form.shape(0);
              check_form(form, bias, shift, d);
              check_free(labels, pinned, weight, n, k, start, stop);
              const GivenMoments sums(moments, d, k);
              std::optional<GivenBounds<T>> given;
              if (!bounds.is_none()) given.emplace(bounds, n, d, k);
              nb::gil_scoped_release free;
              return assign_dense<X, T>(table(x), array(shift), table(form), array(bias), array(labels),
                                        array(pinned), array(weight), given ? &given->bounds : nullptr, start, stop, sums);
          },
          as_is("X"), as_is("shift"), as_is("form"), as_is("bias"), as_is("labels"), nb::arg("pinned"),
          nb::arg("weight"), nb::arg("bounds").none(), nb::arg("start"), nb::arg("stop"), nb::arg("moments"),
          "Put rows start..stop into their cheapest clusters; returns how many moved.");
}

template <class X> void bind_others(nb::module_ &m) {
    m.def("costs_dense",
          [](In2<X> x, In1<double> shift, In1<i64> rows, In2<double> form, In1<double> bias,
             In1<double> own, Out2<double> out) {
              const i64 d = x.shape(1);
              check_form(form, bias, shift, d);
              check_indices(rows, x.shape(0), "rows");
              if (own.size()) check_length(own, d, "own");
              check_shape(out, rows.size(), form.shape(0), "out");
              nb::gil_scoped_release free;
              costs_dense(table(x), array(shift), array(rows), table(form), array(bias), array(own), table(out));
          },
          as_is("X"), nb::arg("shift"), nb::arg("rows"), nb::arg("form"), nb::arg("bias"), nb::arg("own"),
          as_is("out"), "Costs of chosen rows in all clusters, in float64.");
    m.def("undecided_dense",
          [](In2<X> x, In1<X> shift, In1<i64> chosen, In2<X> form, In1<X> bias, In1<X> own, double beyond,
             double margin, In1<i32> labels, In1<double> slack, Out1<i32> known, nb::tuple drift,
             Out1<double> upper, Out1<double> lower, i64 start, i64 stop, Out1<bool> undecided) {
              const i64 n = labels.size(), d = x.shape(1), k = form.shape(0);
              check_form(form, bias, shift, d);
              check_range(start, stop, n);
              check_length(own, d, "own");
              check_length(chosen, n, "chosen");
              check_indices(chosen.data() + start, stop - start, 0, x.shape(0), "chosen");
              check_indices(labels.data() + start, stop - start, 0, k, "labels");
              check_length(slack, n, "slack");
              check_length(undecided, n, "undecided");
              const GivenDrift<double> away(drift);
              if (upper.size()) {
                  check_length(upper, n, "upper");
                  check_length(lower, n, "lower");
                  check_length(known, n, "known");
                  check_length(away.moved, k, "moved");
              }
              nb::gil_scoped_release free;
              undecided_dense(table(x), array(shift), array(chosen), table(form), array(bias), array(own), beyond,
                              margin, array(labels), array(slack), array(known), away.drift, array(upper),
                              array(lower), start, stop, array(undecided));
          },
          as_is("X"), nb::arg("shift"), nb::arg("chosen"), nb::arg("form"), nb::arg("bias"), nb::arg("own"),
          nb::arg("beyond"), nb::arg("margin"), nb::arg("labels"), nb::arg("slack"), as_is("known"),
          nb::arg("drift"), as_is("upper"), as_is("lower"), nb::arg("start"), nb::arg("stop"),
          as_is("undecided"), "Mark rows that links might move, by bounds and costs with an error.");
    m.def("own_costs_dense",
          [](In2<X> x, In1<double> shift, In1<i64> rows, In1<i32> labels, In2<double> form,
             In1<double> bias, In1<double> own, Out1<double> out) {
              const i64 d = x.shape(1);
              check_form(form, bias, shift, d);
              check_indices(rows, x.shape(0), "rows");
              check_length(labels, rows.size(), "labels");
              check_indices(labels, form.shape(0), "labels");
              if (own.size()) check_length(own, d, "own");
              check_length(out, rows.size(), "out");
              nb::gil_scoped_release free;
              own_costs_dense(table(x), array(shift), array(rows), array(labels), table(form), array(bias),
                              array(own), array(out));
          },
          as_is("X"), nb::arg("shift"), nb::arg("rows"), nb::arg("labels"), nb::arg("form"), nb::arg("bias"),
          nb::arg("own"), as_is("out"), "Cost of each chosen row in its own cluster, in float64.");
    m.def("point_distances",
          [](In2<X> x, In1<double> shift, In2<double> points, i64 start, i64 stop, Out2<double> out) {
              const i64 n = x.shape(0), d = x.shape(1);
              check_range(start, stop, n);
              check_length(shift, d, "shift");
              check_shape(points, points.shape(0), d, "points");
              check_shape(out, points.shape(0), n, "out");
              nb::gil_scoped_release free;
              point_distances(table(x), array(shift), table(points), start, stop, table(out));
          },
          as_is("X"), nb::arg("shift"), nb::arg("points"), nb::arg("start"), nb::arg("stop"), as_is("out"),
          "Squared Euclidean distances of rows start..stop to a few points, (m, n).");
    m.def("assign_mixed",
          [](In2<X> x, In1<double> shift, In3<double> factors, In2<double> offsets, In1<double> bias,
             Out1<i32> labels, In1<bool> pinned, In1<double> weight, i64 start, i64 stop, nb::tuple moments) {
              const i64 d = x.shape(1), k = bias.size();
              check_factors(factors, offsets, bias, shift, d);
              check_free(labels, pinned, weight, x.shape(0), k, start, stop);
              const GivenMoments sums(moments, d, k);
              nb::gil_scoped_release free;
              return assign_mixed<X>(table(x), array(shift), factors.data(), table(offsets), array(bias),
                                     array(labels), array(pinned), array(weight), start, stop, sums);
          },
          as_is("X"), nb::arg("shift"), nb::arg("factors"), nb::arg("offsets"), nb::arg("bias"),
          as_is("labels"), nb::arg("pinned"), nb::arg("weight"), nb::arg("start"), nb::arg("stop"),
          nb::arg("moments"), "`assign_dense` under full metrics of each cluster, in float64.");
    m.def("costs_mixed",
          [](In2<X> x, In1<double> shift, In1<i64> rows, In3<double> factors, In2<double> offsets,
             In1<double> bias, Out2<double> out) {
              check_factors(factors, offsets, bias, shift, x.shape(1));
              check_indices(rows, x.shape(0), "rows");
              check_shape(out, rows.size(), bias.size(), "out");
              nb::gil_scoped_release free;
              costs_mixed(table(x), array(shift), array(rows), factors.data(), table(offsets), array(bias), table(out));
          },
          as_is("X"), nb::arg("shift"), nb::arg("rows"), nb::arg("factors"), nb::arg("offsets"),
          nb::arg("bias"), as_is("out"), "`costs_dense` under full metrics of each cluster.");
}

}  // namespace

void bind_kmeans_dense(nb::module_ &m) {
    m.def("engine", [] { return std::string(engine->name); }, "Instruction set of the products.");
    m.def("use_engine", use_engine, nb::arg("name"), "Choose the instruction set, for tests.");
    bind_assign<double, double>(m);
    bind_assign<float, float>(m);
    bind_assign<float, double>(m);
    bind_others<double>(m);
    bind_others<float>(m);
}

}  // namespace linkwise
