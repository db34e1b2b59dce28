// Checks between Python and the kernels: dtypes, shapes, contiguity, indices in range. A kernel
// runs only after all of them hold, without the GIL.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "views.h"

namespace nb = nanobind;

namespace linkwise {

template <class T> using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Made1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T> using Made2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// An item of a (named) tuple; `convert` allows a copy in another dtype.
template <class A> A item(nb::handle tuple, std::size_t i, bool convert = true) {
    return nb::cast<A>(nb::handle(tuple)[nb::int_(i)], convert);
}

// An argument that is never copied: outputs, and data whose copy would be large.
inline auto as_is(const char *name) { return nb::arg(name).noconvert(); }

template <class A> auto array(const A &a) {
    return Array<std::remove_pointer_t<decltype(a.data())>>{a.data(), i64(a.size())};
}
template <class A> auto table(const A &a) {
    using T = std::remove_pointer_t<decltype(a.data())>;
    return Table<T>{a.data(), i64(a.shape(0)), i64(a.shape(1))};
}

inline void check(bool holds, const std::string &what) {
    if (!holds) throw std::invalid_argument("linkwise._core: " + what);
}
inline void check_length(i64 size, i64 wanted, const char *name) {
    if (size != wanted)
        check(false, std::string(name) + " has length " + std::to_string(size) + ", expected " +
                         std::to_string(wanted));
}
template <class A> void check_length(const A &a, i64 wanted, const char *name) {
    check_length(i64(a.size()), wanted, name);
}
template <class A> void check_shape(const A &a, i64 rows, i64 columns, const char *name) {
    if (i64(a.shape(0)) != rows || i64(a.shape(1)) != columns)
        check(false, std::string(name) + " has shape (" + std::to_string(a.shape(0)) + ", " +
                         std::to_string(a.shape(1)) + "), expected (" + std::to_string(rows) +
                         ", " + std::to_string(columns) + ")");
}
inline void check_range(i64 start, i64 stop, i64 n) {
    check(0 <= start && start <= stop && stop <= n, "rows " + std::to_string(start) + ".." +
              std::to_string(stop) + " of " + std::to_string(n));
}

// Least and largest value at once, without branches.
template <class T> void check_indices(const T *p, i64 size, i64 low, i64 high, const char *name) {
    T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
    for (i64 i = 0; i < size; i++) {
        least = p[i] < least ? p[i] : least;
        most = p[i] > most ? p[i] : most;
    }
    if (size && (i64(least) < low || i64(most) >= high))
        check(false, std::string(name) + " has values from " + std::to_string(least) + " to " +
                         std::to_string(most) + ", allowed are " + std::to_string(low) + " to " +
                         std::to_string(high - 1));
}
template <class A> void check_indices(const A &a, i64 high, const char *name, i64 low = 0) {
    check_indices(a.data(), i64(a.size()), low, high, name);
}
// Starts of the lists of n owners in an array of `size` entries.
template <class A> void check_starts(const A &a, i64 n, i64 size, const char *name) {
    check_length(a, n + 1, name);
    bool rises = a.data()[0] == 0 && i64(a.data()[n]) == size;
    for (i64 i = 0; i < n; i++) rises &= a.data()[i] <= a.data()[i + 1];
    check(rises, std::string(name) + " must rise from 0 to " + std::to_string(size));
}

// Rows start..stop of a CSR matrix are checked (all by default), and only they may be read.
template <class X, class I>
Csr<X, I> csr(const In1<X> &data, const In1<I> &indices, const In1<I> &indptr, i64 n_features,
              i64 start = 0, i64 stop = -1) {
    check(indptr.size() > 0, "indptr is empty");
    check_length(indices, i64(data.size()), "indices");
    const i64 n = i64(indptr.size()) - 1, last = stop < 0 ? n : stop;
    check_range(start, last, n);
    const I *at = indptr.data();
    bool rises = at[start] >= 0 && i64(at[last]) <= i64(data.size());
    for (i64 i = start; i < last; i++) rises &= at[i] <= at[i + 1];
    check(rises, "indptr must rise from 0 to " + std::to_string(data.size()));
    check_indices(indices.data() + at[start], at[last] - at[start], 0, n_features, "indices");
    return {array(data), array(indices), array(indptr)};
}

// Only the listed rows are checked, and only they may be read.
template <class X, class I>
Csr<X, I> csr_of(const In1<X> &data, const In1<I> &indices, const In1<I> &indptr, i64 n_features,
                 const In1<i64> &rows) {
    check(indptr.size() > 0, "indptr is empty");
    check_length(indices, i64(data.size()), "indices");
    check_indices(rows, i64(indptr.size()) - 1, "rows");
    for (std::size_t t = 0; t < rows.size(); t++) {
        const I *at = indptr.data() + rows.data()[t];
        if (at[0] < 0 || at[1] < at[0] || i64(at[1]) > i64(data.size()))
            check(false, "indptr must rise from 0 to " + std::to_string(data.size()));
        check_indices(indices.data() + at[0], i64(at[1] - at[0]), 0, n_features, "indices");
    }
    return {array(data), array(indices), array(indptr)};
}

// A vector as an array that Python owns.
template <class T> auto give(std::vector<T> &&values) {
    using V = std::conditional_t<std::is_same_v<T, char>, bool, T>;
    auto *held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    std::size_t shape[1] = {held->size()};
    return Made1<V>(reinterpret_cast<V *>(held->data()), 1, shape, owner);
}

}  // namespace linkwise
