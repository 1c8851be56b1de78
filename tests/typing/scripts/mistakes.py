"""Mistakes that a type checker has to find: each line that says so, and no other."""
import mindtorch as torch
import mindtorch.nn.functional as F
from mindtorch import Tensor, nn, optim
from mindtorch.distributions import Normal
from mindtorch.utils.data import DataLoader, TensorDataset

x = torch.ones(2, 3)
number: int = x + 1  # mistake
x.bakward()  # mistake
nn.Parameter(x).bakward()  # mistake
nn.Buffer(x).to("npu").sum(dimension=0)  # mistake
torch.utils.data.DataLoader([1], batchsize=3)  # mistake
x.sum(dim="rows")  # mistake
x + "1"  # mistake
x["rows"]  # mistake
torch.oness(2)  # mistake
torch.ones(2, dtype="float32")  # mistake
torch.ones(2, devise="cpu")  # mistake
torch.cat(x, 3, 4)  # mistake
torch.add(x)  # mistake
torch.stack([1, 2])  # mistake
text: str = x.shape  # mistake
values: Tensor = torch.max(x, dim=0)  # mistake
torch.max(x, dim=0).value + 1  # mistake
torch.where(x, 1, 2, 3)  # mistake
torch.linalg.qr(3)  # mistake
torch.fft.rfft(x, norm=1)  # mistake
torch.special.expit("x")  # mistake
torch.manual_sed(0)  # mistake
torch.npu.device_cout()  # mistake
torch.npu.set_device()  # mistake
nn.Linear(3)  # mistake
width: int = nn.Linear(1, 1).bias  # mistake
nn.Linear("3", 4)  # mistake
nn.Conv2d(3, 16, kernel="3")  # mistake
nn.Linear(3, 4).in_featurs + 1  # mistake
nn.Lineer(3, 4)  # mistake
F.relu(3)  # mistake
F.cross_entropy(x, x, reduction=0)  # mistake
F.softmaxx(x)  # mistake
F.conv2d(x)  # mistake
optim.Adam(lr=0.1)  # mistake
optim.SGD([x], lr="0.1")  # mistake
optim.Adam([x]).zero_gradients()  # mistake
DataLoader(TensorDataset(x), batch_size="8")  # mistake
DataLoader(TensorDataset(x), shufle=True)  # mistake
Normal(0.0, 1.0).log_probability(x)  # mistake
torch.autocast(device_type=3)  # mistake
torch.autograd.grad(x, x, retain="no")  # mistake
