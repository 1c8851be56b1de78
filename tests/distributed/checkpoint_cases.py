"""Checkpoints of ranks: what test_checkpoint.py has them write and read, with torch and with mindtorch."""
import importlib


def parts_class(torch):
    """A tensor of which each rank has some rows: the least that a tensor class must say of its parts."""
    package = torch.__name__ + ".distributed.checkpoint."
    metadata = importlib.import_module(package + "metadata")
    planner = importlib.import_module(package + "planner")

    class Rows(torch.Tensor):
        def size(self, *dim):
            return self.whole

        def chunk(self):
            return metadata.ChunkStorageMetadata(torch.Size([self.first, 0]), torch.Size(self.part.shape))

        def __create_write_items__(self, fqn, value):
            properties = metadata.TensorProperties.create_from_tensor(self.part)
            data = planner.TensorWriteData(self.chunk(), properties, self.whole)
            return [planner.WriteItem(metadata.MetadataIndex(fqn, self.chunk().offsets), planner.WriteItemType.SHARD,
                                      tensor_data=data)]

        def __create_chunk_list__(self):
            return [self.chunk()]

        def __get_tensor_shard__(self, index):
            return self.part

    def made(whole, rank, size):
        rows = whole.tensor_split(size)
        value = rows[rank].clone().as_subclass(Rows)
        value.part, value.whole = rows[rank].clone(), whole.size()
        value.first = sum(len(each) for each in rows[:rank])
        return value

    return made


def whole(torch):
    return torch.arange(35).reshape(7, 5).float()


def objects(torch):
    """A state of many kinds."""
    return {
        "nested": {"a": torch.arange(6).reshape(2, 3), "list": [torch.tensor(1.5), {"x": 3}],
                   "empty": torch.zeros(0, 2)},
        "half": torch.arange(4).to(torch.bfloat16), "strided": torch.arange(12.).reshape(3, 4).t(),
        "text": "words", "tuple": (1, 2.5), "number": 7, "none": None}


def blank(torch):
    """A state into which `objects` is loaded."""
    return {
        "nested": {"a": torch.zeros(2, 3, dtype=torch.int64), "list": [torch.tensor(0.), {"x": 0}],
                   "empty": torch.ones(0, 2)},
        "half": torch.zeros(4, dtype=torch.bfloat16), "strided": torch.zeros(4, 3),
        "text": "", "tuple": (), "number": 0, "none": 1}


def plain(value):
    """A state without tensors, to compare and to write as JSON."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if not hasattr(value, "dtype"):
        return value
    return [str(value.dtype).split(".")[1], list(value.shape), value.float().tolist()]


def distributed(torch, size, value, dim):
    """A tensor that is cut in a dimension."""
    tensor = importlib.import_module(torch.__name__ + ".distributed.tensor")
    mesh = torch.distributed.init_device_mesh("cpu", (size,))
    return tensor.distribute_tensor(value, mesh, [tensor.Shard(dim)])


def write(torch, rank, size, folder):
    """Writes parts, a whole state, and a DTensor."""
    dcp = importlib.import_module(torch.__name__ + ".distributed.checkpoint")
    state = {**objects(torch), "rows": parts_class(torch)(whole(torch), rank, size)}
    state["dtensor"] = distributed(torch, size, whole(torch).t().contiguous(), 0)
    metadata = dcp.save(state, checkpoint_id=folder)
    return sorted(metadata.state_dict_metadata)


def read(torch, rank, size, *folders):
    """Reads checkpoints into other parts; saves and loads by async_save; an error of one rank is one of all."""
    dcp = importlib.import_module(torch.__name__ + ".distributed.checkpoint")
    results = []
    for folder in folders[1:]:
        rows = parts_class(torch)(torch.zeros(7, 5), rank, size)
        state = {**blank(torch), "rows": rows, "dtensor": distributed(torch, size, torch.zeros(5, 7), 1)}
        dcp.load(state, checkpoint_id=folder)
        del state["rows"]
        results.append([rows.first, rows.part.tolist(), state.pop("dtensor").full_tensor().tolist(), plain(state)])
    state = {"own": torch.full((2,), 1.0)}
    group = torch.distributed.new_group(backend="gloo")
    saved = dcp.async_save({"own": state["own"]}, checkpoint_id=folders[0] + "/async", process_group=group)
    state["own"].fill_(9)       # the copy is made
    saved.result()
    again = {"own": torch.zeros(2)}
    dcp.load(again, checkpoint_id=folders[0] + "/async")
    results.append(again["own"].tolist())
    try:
        dcp.load({"lacking" if rank == 1 else "own": torch.zeros(2)}, checkpoint_id=folders[0] + "/async")
    except dcp.CheckpointException as error:
        results.append({rank: type(each).__name__ for rank, (each, _) in error.failures.items()})
    return results


def states(torch, rank, size):
    """The state of a model, with mindtorch in DDP, by plain names, given out and taken in."""
    helpers = importlib.import_module(torch.__name__ + ".distributed.checkpoint.state_dict")

    def trained(seed, steps):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        ddp = net if torch.__name__ == "torch" else torch.nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.AdamW([{"params": net[:2].parameters(), "lr": 0.1}, {"params": net[2].parameters()}])
        for _ in range(steps):
            optimizer.zero_grad()
            ddp(torch.arange(12.).reshape(4, 3).sin()).square().sum().backward()
            optimizer.step()
        return ddp, optimizer

    ddp, optimizer = trained(0, 2)
    model, optim = helpers.get_state_dict(ddp, optimizer)
    flat = helpers.get_optimizer_state_dict(
        ddp, optimizer, options=helpers.StateDictOptions(flatten_optimizer_state_dict=True))
    offloaded = helpers.get_model_state_dict(
        ddp, options=helpers.StateDictOptions(full_state_dict=True, cpu_offload=True))
    again, again_optimizer = trained(2, 1)
    helpers.set_optimizer_state_dict(again, again_optimizer, dict(flat))
    return [plain(model), sorted(flat), plain(optim["param_groups"]), sorted(offloaded),
            plain(helpers.get_optimizer_state_dict(again, again_optimizer)["state"]) == plain(optim["state"]),
            torch.__name__ == "torch" or from_rank0(helpers, rank, trained, model, optim)]


def fully_sharded(torch, rank, size, folder):
    """Whether the state of a network in shards comes back from a checkpoint, and from the full state of rank 0."""
    package = torch.__name__ + ".distributed"
    dcp, helpers = (importlib.import_module(f"{package}.checkpoint{name}") for name in ("", ".state_dict"))
    fsdp = importlib.import_module(package + ".fsdp")
    full = helpers.StateDictOptions(full_state_dict=True)

    def trained(seed, steps):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 1))
        fsdp.fully_shard(net, mesh=torch.distributed.init_device_mesh("cpu", (size,)))
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(steps):
            net(torch.arange(12.).reshape(4, 3).sin() + rank).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return net, optimizer

    pair = trained(0, 2)
    expected = plain(helpers.get_state_dict(*pair, options=full))
    model, optim = helpers.get_state_dict(*pair)
    dcp.async_save({"model": model, "optim": optim}, checkpoint_id=folder,
                   process_group=torch.distributed.new_group(backend="gloo")).result()
    again = trained(1, 1)
    model, optim = helpers.get_state_dict(*again)
    state = {"model": model, "optim": optim}
    dcp.load(state, checkpoint_id=folder)
    helpers.set_state_dict(*again, model_state_dict=state["model"], optim_state_dict=state["optim"])
    from_full = trained(2, 0)
    model, optim = helpers.get_state_dict(*pair, options=full)
    options = helpers.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    helpers.set_state_dict(*from_full, model_state_dict=model if rank == 0 else {},
                           optim_state_dict=optim if rank == 0 else {}, options=options)
    return [plain(helpers.get_state_dict(*each, options=full)) == expected for each in (again, from_full)], expected[0]


def from_rank0(helpers, rank, trained, model, optim):
    """Whether a rank that is given nothing has the state of rank 0 afterwards; torch waits for ever in this case."""
    other, other_optimizer = trained(1, 0)
    options = helpers.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    helpers.set_state_dict(other, other_optimizer, model_state_dict=model if rank == 0 else {},
                           optim_state_dict=optim if rank == 0 else {}, options=options)
    return plain(helpers.get_state_dict(other, other_optimizer)) == plain((model, optim))


def write_safetensors(torch, rank, size, folder):
    checkpoint = importlib.import_module(f"{torch.__name__}.distributed.checkpoint")
    rows = parts_class(torch)(whole(torch), rank, size)
    checkpoint.save({"rows": rows}, storage_writer=checkpoint.HuggingFaceStorageWriter(folder, save_distributed=True))


def read_file(torch, rank, size, path):
    """What two ranks read of a file of torch.save: a network of fully_shard, and what is refused."""
    package = torch.__name__ + ".distributed"
    checkpoint, formats, fsdp = (importlib.import_module(f"{package}.{name}") for name in (
        "checkpoint", "checkpoint.format_utils", "fsdp"))
    torch.manual_seed(rank)
    net = fsdp.fully_shard(torch.nn.Linear(5, 3))
    state = {"net": net.state_dict()}
    checkpoint.load(state, checkpoint_id=path, storage_reader=formats.BroadcastingTorchSaveReader(),
                    planner=formats.DynamicMetaLoadPlanner())
    found = [value.full_tensor().tolist() for value in state["net"].values()]
    try:
        checkpoint.load({"number": 1}, checkpoint_id=path, storage_reader=formats.BroadcastingTorchSaveReader(),
                        planner=formats.DynamicMetaLoadPlanner())
    except checkpoint.CheckpointException as error:
        found.append("number" in str(error))
    return found
