#pragma once
#include <array>
#include <utility>
#include <vector>

#include "views.h"

namespace linkwise {

using Triplet = std::array<i64, 3>;  // ab|c

// The set that each item and each set hangs from (empty if some set cannot be split), and the
// triplets that live at the end.
std::pair<std::vector<i64>, std::vector<char>> split_down(Array<const Triplet> triplets, i64 n_items);

}  // namespace linkwise
