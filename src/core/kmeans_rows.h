// Counts, sums and squares of the rows per cluster, to which rows are added one by one.
#pragma once
#include "bindings.h"

namespace linkwise {

struct Moments {
    Array<double> counts;           // (k,), or empty: nothing is summed
    Table<double> sums;             // (k, d)
    Array<double> squares;          // (k, depth, d), or empty
    i64 depth = 0;                  // 1 (squares of features) or d (products of features)

    // Move a row from a cluster (or none, -1) to another; z is relative to the shift.
    template <class T> void move(const T *z, double w, i64 old, i64 now) const {
        if (old >= 0) add(z, -w, old);
        if (now >= 0) add(z, w, now);
    }
    template <class T> void add(const T *z, double w, i64 c) const {
        const i64 d = sums.columns;
        counts[c] += w;
        double *sum = sums[c];
        for (i64 f = 0; f < d; f++) sum[f] += w * z[f];
        if (!squares) return;
        double *square = &squares[c * depth * d];
        if (depth == 1)
            for (i64 f = 0; f < d; f++) square[f] += w * z[f] * z[f];
        else
            for (i64 f = 0; f < d; f++) {
                const double scaled = w * z[f];
                for (i64 g = 0; g < d; g++) square[f * d + g] += scaled * z[g];
            }
    }
};

// linkwise.geometry.Moments of k clusters, checked.
class GivenMoments {
  public:
    GivenMoments(nb::handle given, i64 d, i64 k = -1)
        : counts(item<Out1<double>>(given, 0, false)), sums(item<Out2<double>>(given, 1, false)),
          squares(item<Out3<double>>(given, 2, false)) {
        if (!counts.size()) return;
        if (k >= 0) check_length(counts, k, "counts");
        check_shape(sums, i64(counts.size()), d, "sums");
        const i64 depth = squares.shape(1);
        check(!squares.size() || (squares.shape(0) == counts.size() && i64(squares.shape(2)) == d &&
                                  (depth == 1 || depth == d)),
              "squares must be (k, 1, d), (k, d, d) or empty");
    }
    operator Moments() const { return {array(counts), table(sums), array(squares), i64(squares.shape(1))}; }
    i64 k() const { return i64(counts.size()); }

  private:
    Out1<double> counts;
    Out2<double> sums;
    Out3<double> squares;
};

inline double weight_of(Array<const double> weight, i64 i) { return weight ? weight[i] : 1.0; }

inline void check_weight(const In1<double> &weight, i64 n) {
    if (weight.size()) check_length(weight, n, "weight");
}

}  // namespace linkwise
