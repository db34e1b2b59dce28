// Links between constrained rows as kernels take them; see linkwise/kmeans/_kernel_arguments.py
// for what the tuples mean. Rows are positions among the constrained rows.
#pragma once
#include <cmath>

#include "bindings.h"

namespace linkwise {

struct LinkLists {
    Array<const u32> indptr, middle, neighbor;
    i64 rows() const { return middle.size; }
    i64 first(i64 i) const { return indptr[i]; }
    i64 cannot(i64 i) const { return middle[i]; }
    i64 last(i64 i) const { return indptr[i + 1]; }
};

// Costs that differ between clusters.
struct LinkCosts {
    Array<const u32> link;
    Array<const bool> is_must;
    Table<const double> cost;
    explicit operator bool() const { return bool(link); }
};

struct CliqueLists {
    Array<const i64> indptr, group, starts, members;
    Array<const double> weight;
    explicit operator bool() const { return bool(weight); }
};

// What links cost, in one of three forms; the others are empty.
struct Costs {
    Array<const double> flat;  // (2,): must-link, cannot-link
    Array<double> each_entry;  // (2 m,), negative for must-links
    LinkCosts by_cluster;
};

// Costs by the lengths of links, computed when they are needed.
template <class X> struct Measure {
    Table<const X> x;
    Array<const i64> at;
    Array<const double> metric, weight;
    double farthest;
    Array<bool> done;

    // Cost of being together at entry p of the list of row i.
    double operator()(const LinkLists &lists, i64 i, i64 p, bool is_must) const {
        const X *a = x[at[i]], *b = x[at[lists.neighbor[p]]];
        const double *m = metric.data;
        double length = 0;
        for (i64 f = 0; f < x.columns; f++) {
            const double away = double(a[f]) - double(b[f]);
            length += m[f] * away * away;
        }
        const double w = weight.size > 1 ? weight[p] : weight[0];
        return is_must ? -w * length : w * std::max(farthest - length, 0.0);
    }
};

// -------------------------------------------------------------------- the tuples, checked

struct GivenLists {
    In1<u32> indptr, middle, neighbor;
    explicit GivenLists(nb::handle given)
        : indptr(item<In1<u32>>(given, 0)), middle(item<In1<u32>>(given, 1)), neighbor(item<In1<u32>>(given, 2)) {
        const i64 n = i64(middle.size());
        check_starts(indptr, n, i64(neighbor.size()), "indptr");
        check_indices(neighbor, n, "neighbor");
        bool inside = true;
        for (i64 i = 0; i < n; i++)
            inside &= indptr.data()[i] <= middle.data()[i] && middle.data()[i] <= indptr.data()[i + 1];
        check(inside, "middle must be between the ends of each list");
    }
    i64 rows() const { return i64(middle.size()); }
    i64 entries() const { return i64(neighbor.size()); }
    LinkLists lists() const { return {array(indptr), array(middle), array(neighbor)}; }
};

struct GivenCosts {
    std::optional<In1<double>> flat;
    std::optional<Out1<double>> each_entry;
    std::optional<In1<u32>> link;
    std::optional<In1<bool>> is_must;
    std::optional<In2<double>> cost;
    GivenCosts(nb::handle given_flat, nb::handle given_signed, nb::handle each, i64 entries, i64 k) {
        if (!given_flat.is_none()) {
            flat = nb::cast<In1<double>>(given_flat);
            check_length(*flat, 2, "flat");
        }
        if (!given_signed.is_none()) {
            each_entry = nb::cast<Out1<double>>(given_signed, false);
            check_length(*each_entry, entries, "signed");
        }
        if (each.is_none()) return;
        link = item<In1<u32>>(each, 0);
        is_must = item<In1<bool>>(each, 1);
        cost = item<In2<double>>(each, 2);
        check_length(*link, entries, "link");
        check_shape(*cost, i64(is_must->size()), k, "cost");
        check_indices(*link, i64(is_must->size()), "link");
    }
    Costs costs() const {
        Costs out;
        if (flat) out.flat = array(*flat);
        if (each_entry) out.each_entry = array(*each_entry);
        if (link) out.by_cluster = {array(*link), array(*is_must), table(*cost)};
        return out;
    }
};

struct GivenCliques {
    std::optional<In1<i64>> indptr, group, starts, members;
    std::optional<In1<double>> weight;
    GivenCliques(nb::handle given, i64 n) {
        if (given.is_none()) return;
        indptr = item<In1<i64>>(given, 0);
        group = item<In1<i64>>(given, 1);
        starts = item<In1<i64>>(given, 2);
        members = item<In1<i64>>(given, 3);
        weight = item<In1<double>>(given, 4);
        const i64 number = i64(weight->size());
        check_starts(*indptr, n, i64(group->size()), "indptr of groups");
        check_indices(*group, number, "group");
        check_starts(*starts, number, i64(members->size()), "starts of groups");
        check_indices(*members, n, "members");
    }
    i64 size() const { return weight ? i64(weight->size()) : 0; }
    CliqueLists cliques() const {
        if (!weight) return {};
        return {array(*indptr), array(*group), array(*starts), array(*members), array(*weight)};
    }
};

template <class X> struct GivenMeasure {
    In2<X> x;
    In1<i64> at;
    In1<double> metric, weight;
    double farthest;
    Out1<bool> done;
    GivenMeasure(nb::handle given, i64 n, i64 entries)
        : x(item<In2<X>>(given, 0, false)), at(item<In1<i64>>(given, 1)), metric(item<In1<double>>(given, 2)),
          weight(item<In1<double>>(given, 3)), farthest(item<double>(given, 4)),
          done(item<Out1<bool>>(given, 5, false)) {
        check_length(at, n, "at");
        check_indices(at, i64(x.shape(0)), "at");
        check_length(metric, i64(x.shape(1)), "metric");
        if (weight.size() != 1) check_length(weight, entries, "weight");
        check_length(done, n, "done");
    }
    static bool fits(nb::handle given) { return nb::isinstance<In2<X>>(nb::handle(given)[nb::int_(0)]); }
    Measure<X> measure() const {
        return {table(x), array(at), array(metric), array(weight), farthest, array(done)};
    }
};

// run(const Measure<X> *), for the type of the data of a measure, or for none.
template <class Run> auto with_measure(nb::handle given, i64 n, i64 entries, Run run) {
    if (given.is_none()) return run(static_cast<const Measure<double> *>(nullptr));
    if (GivenMeasure<float>::fits(given)) {
        const GivenMeasure<float> held(given, n, entries);
        const auto measure = held.measure();
        return run(&measure);
    }
    const GivenMeasure<double> held(given, n, entries);
    const auto measure = held.measure();
    return run(&measure);
}

}  // namespace linkwise
