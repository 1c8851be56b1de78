"""A network of one's own, and the layers of torch.nn."""
import mindtorch as torch
import mindtorch.nn.functional as F
from mindtorch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
                                 nn.Dropout(dropout))
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        y = self.norm(x)
        attended, _ = self.attention(y, y, y, attn_mask=mask, need_weights=False)
        x = x + attended * self.scale
        result: Tensor = x + self.mlp(F.layer_norm(x, (x.size(-1),)))
        return result


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, kernel_size=3, stride=(1, 1), padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2)
        self.blocks = nn.ModuleList([Block(16) for _ in range(2)])
        self.lstm = nn.LSTM(16, 32, num_layers=2, batch_first=True)
        self.head = nn.Linear(32, 10)
        self.embedding = nn.Embedding(100, 16, padding_idx=0)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(F.relu(self.bn(self.conv(images)), inplace=True))
        x = F.adaptive_avg_pool2d(x, (1, 1)).flatten(1).unsqueeze(1)
        for block in self.blocks:
            x = block(x)
        x, _states = self.lstm(x)
        x = F.dropout(F.gelu(x[:, -1]), p=0.5, training=self.training)
        logits: Tensor = self.head(x)
        return F.log_softmax(logits, dim=-1)


net = Net().to("cpu").train()
net.apply(lambda module: None)
for name, parameter in net.named_parameters():
    print(name, parameter.shape, parameter.requires_grad)
weight: Tensor = net.head.weight
features: int = net.head.in_features
nn.init.kaiming_normal_(net.conv.weight, nonlinearity="relu")
nn.init.zeros_(net.head.bias)
total = sum(p.numel() for p in net.parameters() if p.requires_grad)
nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
state = net.state_dict()
net.load_state_dict(state, strict=True)
loss: Tensor = F.cross_entropy(torch.randn(4, 10), torch.randint(0, 10, (4,)), label_smoothing=0.1)
pooled: Tensor = F.avg_pool2d(torch.randn(1, 3, 8, 8), 2)
convolved: Tensor = F.conv2d(torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3), padding=1)
scores: Tensor = F.scaled_dot_product_attention(torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8),
                                                torch.randn(1, 2, 4, 8), is_causal=True)
resized: Tensor = F.interpolate(torch.randn(1, 3, 8, 8), scale_factor=2.0, mode="bilinear", align_corners=False)
padded: Tensor = F.pad(torch.randn(2, 3), (1, 1), value=0.0)
looked: Tensor = F.embedding(torch.tensor([1, 2]), net.embedding.weight)
linear: Tensor = F.linear(torch.randn(2, 16), torch.randn(4, 16))
