// What kernels take: views of arrays that the binding has checked.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

namespace linkwise {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr double infinity = std::numeric_limits<double>::infinity();

#ifdef LINKWISE_CHECKED
#define LINKWISE_INSIDE(i, size) if (i64(i) < 0 || i64(i) >= (size)) __builtin_trap()
#else
#define LINKWISE_INSIDE(i, size) (void)0
#endif

template <class T> struct Array {
    T *data = nullptr;
    i64 size = 0;
    T &operator[](i64 i) const {
        LINKWISE_INSIDE(i, size);
        return data[i];
    }
    explicit operator bool() const { return size > 0; }
    operator Array<const T>() const requires(!std::is_const_v<T>) { return {data, size}; }
    T *begin() const { return data; }
    T *end() const { return data + size; }
};

template <class T> struct Table {
    T *data = nullptr;
    i64 rows = 0, columns = 0;
    T *operator[](i64 i) const {
        LINKWISE_INSIDE(i, rows);
        return data + i * columns;
    }
    Array<T> row(i64 i) const { return {(*this)[i], columns}; }
};

// CSR rows; I is the type of indices and indptr.
template <class X, class I> struct Csr {
    Array<const X> data;
    Array<const I> indices, indptr;
    i64 rows() const { return indptr.size - 1; }
};

// A loop over features, compiled once per instruction set; the linker's loader picks one (glibc
// only). Elsewhere the baseline of the compiler.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(LINKWISE_CHECKED)
#define LINKWISE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LINKWISE_CLONES
#endif

}  // namespace linkwise
