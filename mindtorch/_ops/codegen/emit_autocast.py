"""mindtorch/_core/_gen/autocast_policies.py: the policies of operators that no row runs."""
from .emit_grad import NOTE
from .rows import POLICIES


def policies(table) -> str:
    """The module with the policies of what has no generated function: op -> (cpu, npu), by the codes of Policy."""
    lines = []
    for name, devices in sorted(table.autocast.items()):
        if name not in table.by_key or table.by_key[name].by_hand:
            codes = [POLICIES.index(devices.get(device, "not_listed")) for device in ("cpu", "npu")]
            lines.append(f'    "{name}": ({codes[0]}, {codes[1]}),\n')
    return NOTE.format(source="autocast.toml") + f"POLICIES = {{\n{''.join(lines)}}}\n"
