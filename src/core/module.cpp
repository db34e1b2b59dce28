// The module linkwise._core: one `bind` function per family.
#include "bindings.h"

namespace linkwise {
void bind_constraints(nb::module_ &);
void bind_density(nb::module_ &);
void bind_geometry(nb::module_ &);
void bind_hierarchy(nb::module_ &);
void bind_mixture(nb::module_ &);
}  // namespace linkwise

NB_MODULE(_core, m) {
    m.doc() = "Compiled loops of linkwise; arguments are checked, the GIL is released.";
    linkwise::bind_constraints(m);
    linkwise::bind_density(m);
    linkwise::bind_geometry(m);
    linkwise::bind_hierarchy(m);
    linkwise::bind_mixture(m);
}
