"""The processes that a test starts: with mindtorch, they import it as torch, too."""
import os

if "PYTORCH_SHIM" in os.environ:
    import shim
    shim.install(os.environ["PYTORCH_SHIM"])
