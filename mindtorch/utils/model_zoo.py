"""torch.utils.model_zoo: the old name of torch.hub's download of weights."""
from mindtorch.hub import _get_torch_home, tqdm  # noqa: F401 - torch has them here too
from mindtorch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
