"""The engine of the CPU: MPI through mpi4py, of the extra mindtorch[mpi].

MPI starts once in a process, with all ranks of the job; each group has a communicator of its own. A collective is a
call of MPI that returns at once with a request, which a Work tests until it has ended or the group's time-out has
passed: MPI itself does not notice that a rank is gone.
"""
from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy

import mindtorch
from mindtorch.distributed import _pmi, _shared_files, _watchdog
from mindtorch.distributed._backend import Backend
from mindtorch.distributed._monitored_barrier import monitored_barrier
from mindtorch.distributed._options import OpType, ReduceOp, reduction
from mindtorch.distributed._stores import DistBackendError, DistStoreError, PrefixStore, TCPStore
from mindtorch.distributed._work import NO_TIMEOUT, Work
from mindtorch.futures import Future

try:
    import mpi4py
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI
except ImportError as error:
    raise RuntimeError("Distributed package doesn't have MPI built in. The engine of the CPU is an extra: "
                       "pip install 'mindtorch[mpi]'") from error

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed._backend import DistributedBackendOptions
    from mindtorch.distributed._stores import Store

__all__ = ["ProcessGroupMPI", "create_backend", "start", "world_of_launcher"]

_SPIN = 0.01            # seconds in which a Work that is waited for is tested without a pause,
_SPIN_PER_BYTE = 1e-8   # and the time that its bytes may take
_PAUSE = 50e-6          # seconds between two tests afterwards, and of Works for which no thread waits
_ANSWER = timedelta(seconds=10)     # time in which each living rank writes to the store that its start has timed out


# Start

_TOO_FEW_THREADS = "torch.distributed needs an MPI with MPI_THREAD_MULTIPLE"
_mpi_ranks: list[int] = []      # of each rank of the job, its rank in _world
_world: MPI.Intracomm = MPI.COMM_NULL


def _library():
    return ctypes.CDLL(MPI.__file__)        # by ctypes, since mpi4py keeps the GIL, which the answers to MPI need


def _prepare():
    _shared_files.remove_stale()
    # Ranks of one machine share memory by MPICH's own means. The files of UCX would stay where a rank is killed.
    os.environ.setdefault("UCX_TLS", "^posix,sysv")


def _use(world):
    """The ranks of the job are those of this communicator."""
    global _world
    _world = world


def _initialize():
    """MPI_Init, as a launcher expects it."""
    _prepare()
    provided = ctypes.c_int()
    if _library().MPI_Init_thread(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(provided)):
        raise DistBackendError("MPI_Init_thread failed")
    if provided.value < MPI.THREAD_MULTIPLE:
        raise DistBackendError(_TOO_FEW_THREADS)
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_RETURN)
    MPI.COMM_WORLD.Barrier()
    _use(MPI.COMM_WORLD)


def _start_session():
    """MPI by a session: it returns its errors, where MPI_Init ends the process if another rank dies in it."""
    _prepare()
    settings, session = MPI.Info.Create({"thread_level": "MPI_THREAD_MULTIPLE"}), ctypes.c_void_p()
    code = _library().MPI_Session_init(ctypes.c_void_p(settings.handle), ctypes.c_void_p(MPI.ERRORS_RETURN.handle),
                                       ctypes.byref(session))
    if code:
        raise DistBackendError(f"MPI_Session_init failed: {MPI.Get_error_string(code)}")
    session = MPI.Session.fromhandle(session.value)
    if session.Get_info().get("thread_level") != "MPI_THREAD_MULTIPLE":
        raise DistBackendError(_TOO_FEW_THREADS)
    world = MPI.Intracomm.Create_from_group(session.Create_group("mpi://WORLD"), "mindtorch", MPI.INFO_NULL,
                                            MPI.ERRORS_RETURN)
    world.Barrier()
    _use(world)


def _launched_size():
    """The number of ranks that mpiexec or Slurm has started, by their variables."""
    names = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS")
    return next((int(os.environ[name]) for name in names if name in os.environ), 0)


def _initialize_under_launcher():
    _initialize()
    _shared_files.remove_named()
    import atexit
    atexit.register(_library().MPI_Finalize)    # mpiexec takes a process that ends without it for one that has failed


def world_of_launcher(timeout: timedelta) -> tuple[Store | None, int, int]:
    """The store, rank and size of the job where mpiexec has started it; None, -1, -1 elsewhere."""
    if _launched_size() < 1:
        return None, -1, -1
    if not _world and MPI.Is_initialized():
        _use(MPI.COMM_WORLD)
    elif not _world:
        _initialize_under_launcher()
    world = _world
    store, address = None, None
    if world.rank == 0:
        store = TCPStore(socket.gethostname(), 0, is_master=True, timeout=timeout, wait_for_workers=False)
        address = store.host, store.port
    host, port = world.bcast(address)
    store = store or TCPStore(host, port, timeout=timeout, wait_for_workers=False)
    return store, world.rank, world.size


def start(store: Store, rank: int, size: int, timeout: timedelta) -> None:
    """Start MPI with all ranks of the job, each of which calls this, unless it runs."""
    if len(_mpi_ranks) == size:
        return
    if not _world:
        if MPI.Is_initialized():        # by the program
            _use(MPI.COMM_WORLD)
        elif _launched_size() == size:
            _initialize_under_launcher()
        elif size == 1:
            _start_session()
            _shared_files.remove_named()
        else:
            _start_by_store(PrefixStore("mpi", store.clone()), rank, size, timeout)
    if _world.size != size:
        raise DistBackendError(f"MPI runs with {_world.size} ranks in this process, and the job has {size}. "
                               "A process can join one job only; start a new one")
    if size > 1:
        store.set(f"mpi_rank/{rank}", str(_world.rank))
        _mpi_ranks[:] = map(int, store.multi_get([f"mpi_rank/{other}" for other in range(size)]))
    else:
        _mpi_ranks[:] = [0]


def _start_by_store(store, rank, size, timeout):
    _wait_for_ranks(store, "here", rank, size, timeout)
    connection = _pmi.serve(store, rank, size).detach()         # MPI keeps it
    try:
        with _pmi.environment(connection, rank, size):
            _within(timeout, _start_session, "the start of MPI")
    except DistBackendError:
        _wait_for_ranks(store, "waited", rank, size, min(timeout, _ANSWER))     # raises for the rank that is gone
        raise
    finally:
        _shared_files.remove_named()


def _wait_for_ranks(store, step, rank, size, timeout):
    """Each rank writes to the store that it has come to this step, because MPI_Init never ends where one is missing."""
    store.set(f"{step}/{rank}", "")
    end = time.monotonic() + timeout.total_seconds()
    try:
        for other in range(size):
            store.wait([f"{step}/{other}"], timedelta(seconds=max(end - time.monotonic(), 0.001)))
    except DistStoreError:
        raise DistBackendError(f"Timed out waiting {round(timeout.total_seconds() * 1000)}ms for rank {other} to start "
                               "MPI. Is it alive?") from None


def _within(timeout, function, what):
    """The result of a call of MPI that cannot be tested for; RuntimeError after the time-out."""
    result, error = [], []

    def call():
        try:
            result.append(function())
        except (MPI.Exception, DistBackendError) as failure:
            error.append(failure)
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(timeout.total_seconds())
    if error:
        raise DistBackendError(str(error[0])) from None
    if not result:
        raise DistBackendError(f"Timed out waiting {round(timeout.total_seconds() * 1000)}ms for {what}. Has every "
                               "rank come here, and is it alive?")
    return result[0]


# Works

class _Progress:
    """A thread that tests the Works for which no other thread waits, so that they and their Futures complete."""

    def __init__(self):
        self._works, self._changed, self._thread = [], threading.Condition(), None

    def add(self, work):
        with self._changed:
            self._works.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mindtorch MPI", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._works)
                works = list(self._works)
            ended = {id(work) for work in works if work.test()}
            if ended:
                with self._changed:
                    self._works = [work for work in self._works if id(work) not in ended]
            del works
            time.sleep(_PAUSE)


_progress = _Progress()
_abandoned: list[Any] = []      # (group, request, memory) of Works past their time-out: MPI may still use the memory


class _MPIWork(Work):
    """A request of MPI, and what is to be done when it has ended."""

    def __init__(self, group, op_type, request, tensors, timeout, buffers=None, on_completion=None, size=0):
        self._group, self._op_type, self._request, self._tensors = group, op_type, request, tensors
        self._buffers, self._on_completion = buffers, on_completion
        self._begun = time.monotonic()
        self._spin_until = self._begun + _SPIN + size * _SPIN_PER_BYTE
        self._timeout, self._deadline = timeout, self._begun + timeout.total_seconds()
        self._lock = threading.Lock()
        self._ended, self._error, self._future = False, None, None
        self._status = MPI.Status() if op_type in (OpType.RECV, OpType.RECVANYSOURCE) else None

    def test(self) -> bool:
        """Whether it has ended, at which its results are made."""
        if self._ended:
            return True
        if not self._lock.acquire(blocking=False):
            return self._ended
        try:
            if not self._ended:
                self._test()
        finally:
            self._lock.release()
        if self._ended and self._future is not None:
            self._complete_future()
        return self._ended

    def _test(self):
        try:
            if not self._request.Test(self._status):
                if time.monotonic() < self._deadline:
                    return
                _abandoned.append((self._group, self._request, self._buffers))
                raise DistBackendError(self._timed_out())
            if self._on_completion is not None:
                self._on_completion()
        except MPI.Exception as error:
            self._error = DistBackendError(f"{self._op_type.name} of group {self._group.group_name!r}: {error}")
        except RuntimeError as error:
            self._error = error
        self._request = self._on_completion = self._buffers = None
        self._group.waiting.discard(self)
        self._ended = True

    def _timed_out(self):
        group = self._group
        return (f"Timed out waiting {round(self._timeout.total_seconds() * 1000)}ms for {self._op_type.name} operation "
                f"to complete on rank {group.rank()} of group {group.group_name!r} (ranks {group.global_ranks}). "
                f"Has every rank called it, and is it alive?\n{_watchdog.describe_ranks(group)}")

    def _complete_future(self):
        with self._lock:
            future, self._future = self._future, None
        if future is not None and self._error is not None:
            future.set_exception(self._error)
        elif future is not None:
            future.set_result(self._tensors)

    def is_completed(self) -> bool:
        return self.test()

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        limit = time.monotonic() + timeout.total_seconds() if timeout else self._deadline + 1
        while not self.test():
            now = time.monotonic()
            if now > limit:
                self._deadline = 0      # the next test ends it
                self._timeout = timeout
            elif now > self._spin_until:
                time.sleep(_PAUSE)
            else:
                os.sched_yield()
        if self._error is not None:
            raise self._error
        return True

    def result(self) -> Any:
        if not self.test():
            raise RuntimeError("Work needs to be completed before calling result().")
        return self._tensors

    def source_rank(self) -> int:
        return super().source_rank() if self._status is None else self._status.source

    _source_rank = source_rank

    def get_future(self) -> Future:
        future = Future()
        with self._lock:
            before, self._future = self._future, future
        if before is not None:
            future.add_done_callback(lambda done: _hand_over(done, before))
        if self._ended:
            self._complete_future()
        else:
            _progress.add(self)
        return future


def _hand_over(done, to):
    if done._error is not None:
        to.set_exception(done._error)
    else:
        to.set_result(done.value())


# Reductions

_TYPES = {mindtorch.float32: MPI.FLOAT, mindtorch.float64: MPI.DOUBLE, mindtorch.uint8: MPI.UINT8_T,
          mindtorch.int8: MPI.INT8_T, mindtorch.int16: MPI.INT16_T, mindtorch.int32: MPI.INT32_T,
          mindtorch.int64: MPI.INT64_T, mindtorch.uint16: MPI.UINT16_T, mindtorch.uint32: MPI.UINT32_T,
          mindtorch.uint64: MPI.UINT64_T, mindtorch.bool: MPI.C_BOOL, mindtorch.complex64: MPI.C_FLOAT_COMPLEX,
          mindtorch.complex128: MPI.C_DOUBLE_COMPLEX}
_OPERATIONS = {ReduceOp.SUM: MPI.SUM, ReduceOp.PRODUCT: MPI.PROD, ReduceOp.MIN: MPI.MIN, ReduceOp.MAX: MPI.MAX,
               ReduceOp.BAND: MPI.BAND, ReduceOp.BOR: MPI.BOR, ReduceOp.BXOR: MPI.BXOR}
_BOOL_OPERATIONS = {ReduceOp.SUM: MPI.LOR, ReduceOp.PRODUCT: MPI.LAND, ReduceOp.MIN: MPI.LAND, ReduceOp.MAX: MPI.LOR,
             ReduceOp.BAND: MPI.LAND, ReduceOp.BOR: MPI.LOR, ReduceOp.BXOR: MPI.LXOR}
_HALF_OPERATIONS = {ReduceOp.SUM: numpy.add, ReduceOp.PRODUCT: numpy.multiply, ReduceOp.MIN: numpy.minimum,
              ReduceOp.MAX: numpy.maximum}
_SUMS = (ReduceOp.AVG, ReduceOp.PREMUL_SUM)     # with a division or multiplication of ours
_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_HALF_DTYPES = {mindtorch.bfloat16: ml_dtypes.bfloat16, mindtorch.float16: numpy.float16}
_made_operations: dict[Any, MPI.Op] = {}


def _half_operation(dtype, op):
    """The operation on a 16-bit float, of which MPI sees two bytes."""
    key = dtype, op
    if key not in _made_operations:
        of_numpy, function = _HALF_DTYPES[dtype], _HALF_OPERATIONS[op]

        def reduce(source, target, _):
            values = numpy.frombuffer(target, of_numpy)
            function(numpy.frombuffer(source, of_numpy), values, out=values)
        _made_operations[key] = MPI.Op.Create(reduce, commute=True)
    return _made_operations[key]


def _type_and_operation(dtype, op):
    """MPI's type of the elements, and its operation for the reduction."""
    kind = ReduceOp.SUM if reduction(op) in _SUMS else reduction(op)
    if kind in _BITWISE and (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if dtype is mindtorch.bool:
        return MPI.C_BOOL, _BOOL_OPERATIONS[kind]
    if dtype in _HALF_DTYPES:
        return MPI.UINT16_T, _half_operation(dtype, kind)
    if dtype not in _TYPES:
        raise RuntimeError(f"ProcessGroupMPI: {dtype} cannot be reduced")
    return _TYPES[dtype], _OPERATIONS[kind]


# Memory

def _memory(tensor, kind=None):
    """The memory of a contiguous tensor, as MPI takes it; without a kind, as bytes."""
    memory = MPI.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)
    return [memory, MPI.BYTE] if kind is None else [memory, tensor.numel(), kind]


def _checked(tensor):
    if tensor.is_sparse or tensor.device.type != "cpu":
        raise RuntimeError("ProcessGroupMPI: tensors must be dense and on the CPU")
    return tensor.detach()


def _contiguous_result(tensor):
    """(contiguous tensor for the results, function that copies them to `tensor`, or None if it is the same tensor)."""
    tensor = _checked(tensor)
    if tensor.is_contiguous():
        return tensor, None
    memory = mindtorch.empty_like(tensor, memory_format=mindtorch.contiguous_format)
    return memory, lambda: tensor.copy_(memory)


def _flatten(tensors):
    """The elements of all, behind each other, in new memory."""
    return mindtorch.cat([_checked(tensor).reshape(-1) for tensor in tensors])


def _unflatten_into(memory, tensors):
    """A function that copies the elements of `memory` to the tensors, in their order."""
    def write():
        parts = memory.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.detach().copy_(part.view(tensor.shape))
    return write


def _divided(tensor, op, size, on_completion=None):
    """What also divides by the number of ranks, for the average."""
    if reduction(op) is not ReduceOp.AVG:
        return on_completion
    rounding = None if tensor.is_floating_point() or tensor.is_complex() else "trunc"       # as HCCL and NCCL
    tensor.new_empty(0).div_(1, rounding_mode=rounding)     # raises for bool

    def divide():
        tensor.div_(size, rounding_mode=rounding)
        if on_completion is not None:
            on_completion()
    return divide


def _scaled(tensor, op):
    """The input of a reduction, multiplied where that belongs to it."""
    return tensor * op.factor if reduction(op) is ReduceOp.PREMUL_SUM else tensor


def _check_alike(name, tensors, like, count):
    if len(tensors) != count:
        raise RuntimeError(f"ProcessGroupMPI::{name}: invalid output tensor list at index 0 (expected length {count}, "
                           f"got {len(tensors)})")
    for place, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(f"ProcessGroupMPI::{name}: invalid tensor size at index {place} (expected "
                               f"{_sizes(like)}, got {_sizes(tensor)})")


def _sizes(tensor):
    return f"({', '.join(map(str, tensor.shape))})"


class ProcessGroupMPI(Backend):
    """The collectives of one group, on a communicator of its own."""

    def __init__(self, options: DistributedBackendOptions) -> None:
        super().__init__(options.group_rank, options.group_size, options.timeout)
        self.global_ranks, self.group_name = options.global_ranks_in_group, options.group_id
        self._store, self._monitored_barriers = options.store, 0
        members = _world.group.Incl([_mpi_ranks[rank] for rank in self.global_ranks])
        tag = sum(self.group_name.encode()) % 32768
        self._comm = _within(options.timeout, lambda: _world.Create_group(members, tag),
                             f"group {self.group_name!r} of the ranks {self.global_ranks} to be made")
        self._comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.waiting: set[_MPIWork] = set()     # the Works that have not ended
        if self._size > 1:
            _watchdog.watch(self)

    def name(self) -> str:
        return "mpi"

    @property
    def options(self) -> Backend.Options:
        return Backend.Options("mpi", self._timeout)

    # What the watchdog asks

    def global_rank(self, rank: int) -> int:
        """The global rank of a rank of this group."""
        return self.global_ranks[rank]

    def failure(self) -> None:
        """Does nothing: the Works raise their errors."""

    def is_idle(self) -> bool:
        """Whether all collectives have ended."""
        return not self.waiting

    def shutdown(self) -> None:
        _watchdog.unwatch(self)
        if self._comm is not None and not any(group is self for group, _, _ in _abandoned):
            self._comm.Free()
        self._comm = None

    def abort(self) -> None:
        _watchdog.unwatch(self)
        self._comm = None

    def _work(self, op_type, opts, call, arguments, tensors, keep=(), on_completion=None, size=0):
        """Call MPI, which returns a request."""
        if self._comm is None:
            raise DistBackendError(f"The process group {self.group_name!r} has been destroyed")
        self._sequence_number += 1
        self._recent.append(op_type)
        try:
            request = getattr(self._comm, call)(*arguments)
        except MPI.Exception as error:
            root = getattr(opts, "rootRank", 0)
            if not 0 <= root < self._size:
                raise RuntimeError(f"ProcessGroupMPI::{op_type.name.lower()}: invalid root rank: {root}") from None
            raise DistBackendError(f"{op_type.name} of group {self.group_name!r}: {error}") from None
        timeout = self._timeout if opts is None else self._timeout_of(opts)
        work = _MPIWork(self, op_type, request, tensors, timeout, (keep, arguments), on_completion, size)
        self.waiting.add(work)
        if opts is None or opts.asyncOp:
            _progress.add(work)
        return work

    def allreduce(self, tensors: list[Tensor], opts: Any) -> Work:
        return self._allreduce(OpType.ALLREDUCE, tensors, opts)

    def _allreduce(self, op_type, tensors, opts):
        tensor = tensors[0]
        if len(tensors) > 1 or not tensor.is_contiguous() or tensor.is_sparse:
            memory = _flatten(tensors)
            on_completion = _unflatten_into(memory, tensors)
        else:
            memory, on_completion = _checked(tensor), None
        op = opts.reduceOp
        if reduction(op) is ReduceOp.PREMUL_SUM:
            memory.mul_(op.factor)
        kind, operation = _type_and_operation(memory.dtype, op)
        on_completion = _divided(memory, op, self._size, on_completion)
        return self._work(op_type, opts, "Iallreduce", (MPI.IN_PLACE, _memory(memory, kind), operation), tensors,
                          memory, on_completion, memory.nbytes)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any) -> Work:
        return self._allreduce(OpType.ALLREDUCE_COALESCED, tensors, opts)

    def broadcast(self, tensors: list[Tensor], opts: Any) -> Work:
        memory, on_completion = _contiguous_result(tensors[0])
        if on_completion is not None and opts.rootRank == self._rank:
            memory.copy_(tensors[0].detach())
        return self._work(OpType.BROADCAST, opts, "Ibcast", (_memory(memory), opts.rootRank), tensors, memory,
                          on_completion, memory.nbytes)

    def reduce(self, tensors: list[Tensor], opts: Any) -> Work:
        is_root, op = opts.rootRank == self._rank, opts.reduceOp
        memory = _scaled(_checked(tensors[0]), op).contiguous()
        kind, operation = _type_and_operation(memory.dtype, op)
        data = _memory(memory, kind)
        on_completion = None
        if is_root and memory.data_ptr() != tensors[0].data_ptr():
            on_completion = _unflatten_into(memory.reshape(-1), tensors)
        if is_root:
            on_completion = _divided(memory, op, self._size, on_completion)
        arguments = (MPI.IN_PLACE, data) if is_root else (data, None)
        return self._work(OpType.REDUCE, opts, "Ireduce", (*arguments, operation, opts.rootRank), tensors, memory,
                          on_completion, memory.nbytes)

    def allgather(self, output_tensors: list[list[Tensor]], input_tensors: list[Tensor], opts: Any) -> Work:
        outputs, source = output_tensors[0], _checked(input_tensors[0]).contiguous()
        _check_alike("allgather", outputs, source, self._size)
        memory = source.new_empty(self._size * source.numel())
        return self._work(OpType.ALLGATHER, opts, "Iallgather", (_memory(source), _memory(memory)), output_tensors,
                          (source, memory), _unflatten_into(memory, outputs), memory.nbytes)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any) -> Work:
        if output.dtype != input.dtype:
            raise RuntimeError("output tensor must have the same type as input tensor")
        if output.numel() != input.numel() * self._size:
            raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
        source = _checked(input).contiguous()
        memory, on_completion = _contiguous_result(output)
        return self._work(OpType._ALLGATHER_BASE, opts, "Iallgather", (_memory(source), _memory(memory)), [output],
                          (source, memory), on_completion, memory.nbytes)

    def allgather_coalesced(self, output_lists: list[list[Tensor]], input_list: list[Tensor], opts: Any) -> Work:
        if len(output_lists) != self._size:
            raise RuntimeError("ProcessGroupMPI::allgather_coalesced: output lists should be equal to world size")
        for outputs in output_lists:
            for place, (output, source) in enumerate(zip(outputs, input_list, strict=True)):
                if output.shape != source.shape:
                    raise RuntimeError("ProcessGroupMPI::allgather_coalesced: invalid size of output tensor at index "
                                       f"{place} (expected length {_sizes(source)}, got {_sizes(output)})")
        source = _flatten(input_list)
        memory = source.new_empty(self._size * source.numel())
        places = [output for outputs in output_lists for output in outputs]
        return self._work(OpType.ALLGATHER_COALESCED, opts, "Iallgather", (_memory(source), _memory(memory)),
                          output_lists, (source, memory), _unflatten_into(memory, places), memory.nbytes)

    def allgather_into_tensor_coalesced(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any) -> Work:
        shares = [output.view(self._size, *source.shape) for output, source in zip(outputs, inputs, strict=True)]
        return self.allgather_coalesced([[share[rank] for share in shares] for rank in range(self._size)], inputs, opts)

    def reduce_scatter(self, output_tensors: list[Tensor], input_tensors: list[list[Tensor]], opts: Any) -> Work:
        parts = input_tensors[0]
        if len(parts) != self._size:
            raise RuntimeError(f"ProcessGroupMPI::reduce_scatter: invalid input tensor list at index 0 (expected "
                               f"length {self._size}, got {len(parts)})")
        return self._reduce_scatter(OpType.REDUCE_SCATTER, output_tensors, _flatten(parts),
                                    [part.numel() for part in parts], opts)

    def _reduce_scatter(self, op_type, outputs, source, counts, opts):
        """`outputs` have the share of this rank, behind each other."""
        op = opts.reduceOp
        if counts[self._rank] != sum(output.numel() for output in outputs):
            raise RuntimeError("input tensor must be the same size as output size times world size")
        if outputs[0].dtype != source.dtype:
            raise RuntimeError("input tensor must be the same type as the output tensor.")
        memory, on_completion = _contiguous_result(outputs[0])
        if len(outputs) > 1:
            memory = source.new_empty(counts[self._rank])
            on_completion = _unflatten_into(memory, outputs)
        source = _scaled(source, op)
        kind, operation = _type_and_operation(source.dtype, op)
        arguments = (_memory(source, kind), _memory(memory, kind), counts, operation)
        return self._work(op_type, opts, "Ireduce_scatter", arguments, outputs, (source, memory),
                          _divided(memory, op, self._size, on_completion), source.nbytes)

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any) -> Work:
        return self._reduce_scatter(OpType._REDUCE_SCATTER_BASE, [output], _checked(input).contiguous(),
                                    [input.numel() // self._size] * self._size, opts)

    def reduce_scatter_tensor_coalesced(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any) -> Work:
        shares = [tensor.reshape(self._size, -1) for tensor in map(_checked, inputs)]
        source = mindtorch.cat(shares, 1).reshape(-1)
        return self._reduce_scatter(OpType.REDUCE_SCATTER_TENSOR_COALESCED, outputs, source,
                                    [source.numel() // self._size] * self._size, opts)

    def gather(self, output_tensors: list[list[Tensor]], input_tensors: list[Tensor], opts: Any) -> Work:
        source = _checked(input_tensors[0]).contiguous()
        memory = on_completion = None
        if opts.rootRank == self._rank:
            outputs = output_tensors[0]
            if len(outputs) != self._size:
                raise RuntimeError(f"ProcessGroupMPI::gather: Incorrect output list size {len(outputs)}. Output list "
                                   f"size should be {self._size}, same as size of the process group.")
            _check_alike("gather", outputs, source, self._size)
            memory = source.new_empty(self._size * source.numel())
            on_completion = _unflatten_into(memory, outputs)
        target = None if memory is None else _memory(memory)
        return self._work(OpType.GATHER, opts, "Igather", (_memory(source), target, opts.rootRank), output_tensors,
                          (source, memory), on_completion, source.nbytes)

    def scatter(self, output_tensors: list[Tensor], input_tensors: list[list[Tensor]], opts: Any) -> Work:
        memory, on_completion = _contiguous_result(output_tensors[0])
        source = None
        if opts.rootRank == self._rank:
            parts = input_tensors[0]
            if len(parts) != self._size:
                raise RuntimeError(f"ProcessGroupMPI::scatter: Incorrect input list size {len(parts)}. Input list size "
                                   f"should be {self._size}, same as size of the process group.")
            _check_alike("scatter", parts, memory, self._size)
            source = _flatten(parts)
        data = None if source is None else _memory(source)
        return self._work(OpType.SCATTER, opts, "Iscatter", (data, _memory(memory), opts.rootRank), output_tensors,
                          (source, memory), on_completion, memory.nbytes)

    def alltoall(self, output_tensors: list[Tensor], input_tensors: list[Tensor], opts: Any) -> Work:
        for tensors in (output_tensors, input_tensors):
            if len(tensors) != self._size:
                raise RuntimeError("Number of input tensors are not equal to group size" if tensors is input_tensors
                                   else "Number of output tensors are not equal to group size")
        source = _flatten(input_tensors)
        memory = source.new_empty(sum(tensor.numel() for tensor in output_tensors))
        return self._alltoall(OpType.ALLTOALL, output_tensors, source, memory,
                              [tensor.nbytes for tensor in input_tensors],
                              [tensor.nbytes for tensor in output_tensors], opts,
                              _unflatten_into(memory, output_tensors))

    def _alltoall(self, op_type, outputs, source, memory, sent, received, opts, on_completion):
        arguments = ([*_memory(source)[:1], sent, MPI.BYTE], [*_memory(memory)[:1], received, MPI.BYTE])
        return self._work(op_type, opts, "Ialltoallv", arguments, outputs, (source, memory), on_completion,
                          source.nbytes)

    def alltoall_base(self, output: Tensor, input: Tensor, output_split_sizes: list[int],
                      input_split_sizes: list[int], opts: Any) -> Work:
        source = _checked(input).contiguous()
        memory, on_completion = _contiguous_result(output)
        return self._alltoall(OpType.ALLTOALL_BASE, [output], source, memory,
                              self._bytes_of_splits(source, input_split_sizes),
                              self._bytes_of_splits(memory, output_split_sizes), opts, on_completion)

    def _bytes_of_splits(self, tensor, splits):
        """The bytes for each rank, by the rows that it gets: equally many where `splits` is empty."""
        rows = tensor.shape[0]
        if not splits:
            if rows % self._size:
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            splits = [rows // self._size] * self._size
        if len(splits) != self._size:
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(splits) != rows:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        return [split * (tensor.nbytes // rows if rows else 0) for split in splits]

    def barrier(self, opts: Any) -> Work:
        return self._work(OpType.BARRIER, opts, "Ibarrier", (), [])

    def send(self, tensors: list[Tensor], rank: int, tag: int) -> Work:
        source = _checked(tensors[0]).contiguous()
        return self._work(OpType.SEND, None, "Isend", (_memory(source), rank, tag), tensors, source)

    def recv(self, tensors: list[Tensor], rank: int, tag: int) -> Work:
        return self._receive(OpType.RECV, tensors, rank, tag)

    def recv_anysource(self, tensors: list[Tensor], tag: int) -> Work:
        return self._receive(OpType.RECVANYSOURCE, tensors, MPI.ANY_SOURCE, tag)

    def _receive(self, op_type, tensors, rank, tag):
        memory, on_completion = _contiguous_result(tensors[0])
        return self._work(op_type, None, "Irecv", (_memory(memory), rank, tag), tensors, memory, on_completion)

    def monitored_barrier(self, opts: Any, wait_all_ranks: bool) -> None:
        self._monitored_barriers += 1
        store = PrefixStore(f"monitored_barrier/{self._monitored_barriers}", self._store)
        monitored_barrier(store, self._rank, self._size, self._timeout_of(opts), wait_all_ranks)


def create_backend(options: DistributedBackendOptions, pg_options: Any = None) -> ProcessGroupMPI:
    """The engine of a group; MPI runs."""
    return ProcessGroupMPI(options)
