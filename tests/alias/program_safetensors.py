"""What safetensors is used for: writes files and reads those of the folder in the command line.

    program_safetensors.py FOLDER DEVICE OWN OTHERS

writes FOLDER/OWN*.safetensors and prints what it reads from FOLDER/OTHERS*.safetensors, the same under torch and
mindtorch.
"""
import sys

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

FOLDER, DEVICE, OWN, OTHERS = sys.argv[1:]
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8, torch.bool, torch.complex64, torch.uint16, torch.uint32, torch.uint64,
          torch.float8_e4m3fn, torch.float8_e5m2)


def make(device):
    tensors = {str(dtype): (torch.arange(12).reshape(3, 4) % 5).to(dtype).to(device) for dtype in DTYPES}
    return {**tensors, "scalar": torch.tensor(3.5, device=device), "empty": torch.zeros(2, 0, device=device)}


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(3, 4)
        self.decoder = torch.nn.Linear(3, 4, bias=False)
        self.decoder.weight = self.encoder.weight
        self.register_buffer("steps", torch.tensor(7))


def show(tensors):
    for name, tensor in sorted(tensors.items()):
        if tensor.device.type != DEVICE:
            print("on", tensor.device)
        print(name, tensor.dtype, tuple(tensor.shape), tensor.is_contiguous(), tensor.requires_grad, tensor.tolist())


def refused(name, call):
    try:
        call()
    except Exception as error:      # noqa: BLE001
        print(name, type(error).__name__, str(error).strip().partition("[")[0])


def write():
    save_file(make(DEVICE), f"{FOLDER}/{OWN}.safetensors", metadata={"format": "pt"})
    model = Tied()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape))
    save_model(model.to(DEVICE), f"{FOLDER}/{OWN}-model.safetensors")
    print(load(save(make(DEVICE)))["torch.bfloat16"].tolist())
    whole = torch.zeros(4, device=DEVICE)
    refused("shared", lambda: save({"a": whole, "b": whole[1:]}))
    refused("strided", lambda: save({"a": torch.zeros(3, 4, device=DEVICE).t()}))
    refused("no dict", lambda: save([whole]))
    refused("no tensor", lambda: save({"a": 1}))


def read():
    show(load_file(f"{FOLDER}/{OTHERS}.safetensors", device=DEVICE))
    with open(f"{FOLDER}/{OTHERS}.safetensors", "rb") as file:
        print(sorted(load(file.read())))
    with safe_open(f"{FOLDER}/{OTHERS}.safetensors", framework="pt", device=DEVICE) as file:
        print(file.metadata(), sorted(file.keys()))
        part = file.get_slice("torch.float32")
        print(part.get_shape(), part.get_dtype(), part[1:, :2].tolist(), part[:, 3].tolist())
        tensor = file.get_tensor("torch.int64")
        tensor += 1                 # the file is not written to
        print(tensor.tolist())
        print(tensor.untyped_storage().nbytes(), tensor.storage_offset())
        refused("missing", lambda: file.get_tensor("none"))
    model = Tied().to(DEVICE)
    print(load_model(model, f"{FOLDER}/{OTHERS}-model.safetensors", device=DEVICE))
    show(model.state_dict())
    print(model.decoder.weight is model.encoder.weight)


write()
if OTHERS != "-":
    read()
