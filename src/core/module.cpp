// The module linkwise._core: one `bind` function per family.
#include "bindings.h"

namespace linkwise {
void bind_active(nb::module_ &);
void bind_constraints(nb::module_ &);
void bind_density(nb::module_ &);
void bind_geometry(nb::module_ &);
void bind_kmeans_dense(nb::module_ &);
void bind_kmeans_flow(nb::module_ &);
void bind_kmeans_groups(nb::module_ &);
void bind_kmeans_hard(nb::module_ &);
void bind_kmeans_links(nb::module_ &);
void bind_kmeans_rows(nb::module_ &);
void bind_hierarchy(nb::module_ &);
void bind_mixture(nb::module_ &);
}  // namespace linkwise

NB_MODULE(_core, m) {
    m.doc() = "Compiled loops of linkwise; arguments are checked, the GIL is released.";
    linkwise::bind_active(m);
    linkwise::bind_constraints(m);
    linkwise::bind_density(m);
    linkwise::bind_geometry(m);
    linkwise::bind_kmeans_dense(m);
    linkwise::bind_kmeans_flow(m);
    linkwise::bind_kmeans_groups(m);
    linkwise::bind_kmeans_hard(m);
    linkwise::bind_kmeans_links(m);
    linkwise::bind_kmeans_rows(m);
    linkwise::bind_hierarchy(m);
    linkwise::bind_mixture(m);
}
