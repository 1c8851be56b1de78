"""torch._dynamo.decorators."""
from mindtorch._dynamo import (  # noqa: F401 - they stand in the package
    allow_in_graph,
    disable,
    forbid_in_graph,
    graph_break,
    mark_dynamic,
    mark_static,
    mark_static_address,
    mark_unbacked,
    maybe_mark_dynamic,
)
