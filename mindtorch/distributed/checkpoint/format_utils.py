"""torch.distributed.checkpoint.format_utils: checkpoints from and to files of torch.save.

As a program: python -m mindtorch.distributed.checkpoint.format_utils dcp_to_torch <folder> <file>, or torch_to_dcp.
"""
from __future__ import annotations

import argparse
import os

import mindtorch
from mindtorch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from mindtorch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from mindtorch.distributed.checkpoint.state_dict_loader import _load_state_dict
from mindtorch.distributed.checkpoint.state_dict_saver import _save_state_dict

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write all that a checkpoint holds to one file. It must fit into the memory of this process.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpoint, file = (os.path.join(folder.name, name) for name in ("checkpoint", "model.pt"))
        >>> _ = dist.checkpoint.save({"weight": torch.ones(2)}, checkpoint_id=checkpoint)
        >>> dist.checkpoint.format_utils.dcp_to_torch_save(checkpoint, file)
        >>> torch.load(file)
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """
    state_dict: dict[str, object] = {}
    _load_state_dict(state_dict, FileSystemReader(dcp_checkpoint_dir), no_dist=True,
                     planner=_EmptyStateDictLoadPlanner())
    mindtorch.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write the state dict of a file, which must be one that you trust, as a checkpoint.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpoint, file = (os.path.join(folder.name, name) for name in ("checkpoint", "model.pt"))
        >>> torch.save({"weight": torch.ones(2)}, file)
        >>> dist.checkpoint.format_utils.torch_save_to_dcp(file, checkpoint)
        >>> state = {"weight": torch.zeros(2)}
        >>> dist.checkpoint.load(state, checkpoint_id=checkpoint)
        >>> state
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """
    state_dict = mindtorch.load(torch_save_path, weights_only=False)
    _save_state_dict(state_dict, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


def _main():
    parser = argparse.ArgumentParser(description="Converts checkpoints from and to files of torch.save.")
    modes = {"torch_to_dcp": torch_save_to_dcp, "dcp_to_torch": dcp_to_torch_save}
    parser.add_argument("mode", choices=modes, help="what is made of what")
    parser.add_argument("src", help="the file or folder that is read")
    parser.add_argument("dst", help="the file or folder that is written")
    args = parser.parse_args()
    modes[args.mode](args.src, args.dst)


if __name__ == "__main__":
    _main()
