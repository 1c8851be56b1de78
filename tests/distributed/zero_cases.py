"""Training with ZeroRedundancyOptimizer, for test_zero_redundancy_optimizer.py."""
import importlib


def train(torch, rank, size, device):
    """What a network is after training with it, and with the plain optimizer in each rank."""
    zero_class = importlib.import_module(torch.__name__ + ".distributed.optim").ZeroRedundancyOptimizer
    return [trained(torch, rank, device, zero_class), trained(torch, rank, device, plain)]


def plain(params, optimizer_class, parameters_as_bucket_view=False, **defaults):
    """The plain optimizer, made as the other is."""
    return optimizer_class(params, **defaults)


def trained(torch, rank, device, zero_class):
    """Parameters and state of a network that is trained in several ways."""
    join = importlib.import_module(torch.__name__ + ".distributed.algorithms.join").Join
    results = {}

    def network():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 4), torch.nn.Linear(4, 2))
        net.to(device)
        return net, torch.nn.parallel.DistributedDataParallel(net)

    def groups(net):
        return [{"params": list(net[0].parameters())}, {"params": [*net[2].parameters(), *net[3].parameters()]}]

    def step(ddp, optimizer, number):
        optimizer.zero_grad()
        inputs = (torch.arange(12.).reshape(4, 3) + number + rank).sin().to(device)
        loss = ddp(inputs).square().sum()
        loss.backward()
        optimizer.step()

    def values(net):
        return [parameter.tolist() for parameter in net.parameters()]

    for views in (False, True):
        net, ddp = network()
        optimizer = zero_class(net[0].parameters(), torch.optim.AdamW, parameters_as_bucket_view=views, lr=0.05)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        for number in range(3):
            step(ddp, optimizer, number)
            schedule.step()
        optimizer.add_param_group({"params": [*net[2].parameters(), *net[3].parameters()], "lr": 0.01})
        step(ddp, optimizer, 3)
        results[f"views {views}"] = values(net)
    net, ddp = network()
    optimizer = zero_class(groups(net), torch.optim.AdamW, lr=0.05)
    step(ddp, optimizer, 0)
    optimizer.param_groups[1]["lr"] = 0.01
    step(ddp, optimizer, 1)
    if zero_class is not plain:
        try:
            optimizer.state_dict()
        except RuntimeError as error:
            results["error"] = str(error)
        optimizer.consolidate_state_dict(to=1)
        results["own"] = len(optimizer.optim.state)
    saved = [optimizer.state_dict() if rank == 1 else None]
    torch.distributed.broadcast_object_list(saved, src=1)
    (state,) = saved
    results["state"] = [[number, sorted(each), each["exp_avg"].tolist()] for number, each in state["state"].items()]
    results["groups"] = [[group["lr"], group["params"]] for group in state["param_groups"]]

    again, ddp = network()
    other = zero_class(groups(again), torch.optim.AdamW, lr=1.0)
    other.load_state_dict(state)
    step(ddp, other, 4)
    results["loaded"] = [values(again), [group["lr"] for group in other.param_groups]]

    if zero_class is plain:
        return results
    net, ddp = network()
    optimizer = zero_class(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    with join([ddp, optimizer]):
        for number in range(2 + 2 * rank):
            step(ddp, optimizer, number)
    results["join"] = values(net)
    return results
