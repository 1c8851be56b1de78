"""What functions of images, distances and cells launch on the NPU, forward and backward: the operators of torch_npu."""
import pytest

import mindtorch as torch
from mindtorch import sim
from mindtorch.nn import functional


def launched(run):
    """Operators of ACLNN -> how often `run` launches them."""
    run()
    with sim.counting() as counts:
        run()
    return {name.removeprefix("aclnn"): n for name, n in counts.operators().items()}


def numbers(*shape, dtype=torch.float32):
    return torch.rand(shape).to("npu", dtype).requires_grad_(dtype.is_floating_point)


IMAGE, GRID, VOLUME, PLACES = (1, 2, 4, 4), (1, 3, 3, 2), (1, 2, 3, 3, 3), (1, 2, 2, 2, 3)
CALLS = {
    "grid_sample": (lambda x, grid: functional.grid_sample(x, grid, align_corners=False), [IMAGE, GRID],
                    {"GridSampler2D": 1}, {"GridSampler2DBackward": 1}),
    "grid_sample 3d": (lambda x, grid: functional.grid_sample(x, grid, align_corners=False), [VOLUME, PLACES],
                       {"GridSampler3D": 1}, {"GridSampler3DBackward": 1}),
    "affine_grid": (lambda theta: functional.affine_grid(theta, (1, 2, 4, 4), align_corners=False), [(1, 2, 3)],
                    {"AffineGrid": 1}, None),
    "antialias": (lambda x: functional.interpolate(x, (2, 3), mode="bilinear", antialias=True), [IMAGE],
                  {"UpsampleBilinear2dAA": 1}, {"UpsampleBilinear2dAABackward": 1}),
    "antialias bicubic": (lambda x: functional.interpolate(x, (2, 3), mode="bicubic", antialias=True), [IMAGE],
                          {"UpsampleBicubic2dAA": 1}, {"UpsampleBicubic2dAAGrad": 1}),
    "cdist": (lambda x, y: torch.cdist(x, y.detach()), [(4, 3), (5, 3)], {"Cdist": 1}, {"CdistBackward": 1}),
    "pdist": (functional.pdist, [(4, 3)], {"Pdist": 1}, None),
    "aminmax": (lambda x: torch.aminmax(x, dim=1), [(4, 3)], {"Aminmax": 1}, None),
    "isclose": (lambda x, y: torch.isclose(x.detach(), y.detach()), [(4, 3), (4, 3)], {"IsClose": 1}, None),
    "equal": (lambda x, y: torch.equal(x.detach(), y.detach()), [(4, 3), (4, 3)], {"Equal": 1}, None),
    "eye": (lambda x: torch.eye(3, device=x.device), [()], {"Eye": 1}, None),
    "shift": (lambda x: x.detach().int() << 2, [(4, 3)], {"InplaceCopy": 1, "LeftShifts": 1}, None),
    "lstm cell": (lambda x, h, c, a, b: torch.lstm_cell(x, (h, c), a, b),
                  [(2, 3), (2, 4), (2, 4), (16, 3), (16, 4)], {"Matmul": 2, "ThnnFusedLstmCell": 1},
                  {"Mm": 4, "ThnnFusedLstmCellBackward": 1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_launches(name):
    call, shapes, forward, backward = CALLS[name]
    operands = [numbers(*shape) for shape in shapes]
    found = launched(lambda: call(*operands))
    assert found == forward
    if backward:
        results = [call(*operands) for _ in range(2)]
        first = [result[0] if isinstance(result, tuple) else result for result in results]
        grad = torch.ones_like(first[0])

        def back():
            for one in operands:
                one.grad = None
            first.pop().backward(grad)
        assert launched(back) == backward


def test_unpooling():
    x = numbers(1, 1, 4, 4)
    values, places = functional.max_pool2d(x.detach(), 2, return_indices=True)
    assert launched(lambda: functional.max_unpool2d(values, places, 2)) == {"MaxUnpool2d": 1}
