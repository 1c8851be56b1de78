"""Runs programs of programs.py, or under torchrun of programs_of_two.py, and prints what they tell as lines of JSON:
python run.py DEVICE PROGRAM...
"""
import importlib
import json
import os
import sys
import traceback
import warnings

import torch

warnings.simplefilter("ignore")
sys.path.insert(0, str(__file__).rpartition("/")[0])
# The programs stand beside this file.
PROGRAMS = importlib.import_module("programs_of_two" if "RANK" in os.environ else "programs").PROGRAMS

if "mindtorch" not in sys.modules and not torch.version.cuda:
    # PyPI's torchvision is linked to CUDA. Where torch is not, it cannot load its operators, and yet names two of them.
    operators = torch.library.Library("torchvision", "DEF")
    operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def main(device, names):
    for name in names:
        told = []

        def tell(what, tensor, told=told):
            tensor = tensor.detach().cpu().double()
            told.append([what, list(tensor.shape), tensor.flatten().tolist()])
        try:
            PROGRAMS[name](tell, device)
            answer = {"program": name, "told": told}
        except Exception as error:      # noqa: BLE001 - this program has failed, the others run
            place = traceback.extract_tb(error.__traceback__)[-1]
            answer = {"program": name, "error": f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"}
        if "error" in answer or os.environ.get("RANK", "0") == "0":
            print(json.dumps(answer), flush=True)


main(sys.argv[1], sys.argv[2:])
