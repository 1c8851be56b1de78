# cython: always_allow_keywords=False
"""HCCL, CANN's library of collectives: communicators, whose operations run on the current stream of their device."""
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from mindtorch._npu.acl import driver_message
from mindtorch._npu.acl_loader import OLDEST, open_hccl

from mindtorch._core.tensor.dtype cimport (
    BFloat16, Bool, Byte, Char, Double, FLOAT_KIND, Float, Float8_e4m3fn, Float8_e5m2, Float8_e8m0fnu, Half, Int, KIND,
    Long, NUM_SCALAR_TYPES, Short, UInt16, UInt32, UInt64,
)
from mindtorch._core.tensor.tensor cimport BACKENDS, NPU, TensorBase, bump_version
from mindtorch._npu.acl cimport api as acl_api
from mindtorch._npu.acl cimport drain_queue, find_symbols, has_launches
from mindtorch._npu.allocator cimport add_use_of_tensor
from mindtorch._npu.cann cimport ACL_STREAM_STATUS_COMPLETE, aclrtStreamStatus
from mindtorch._npu.hccl_api cimport (
    HCCL_COMM_CONFIG_EXEC_TIMEOUT, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP16,
    HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_FP8E4M3, HCCL_DATA_TYPE_FP8E5M2, HCCL_DATA_TYPE_FP8E8M0,
    HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_RESERVED,
    HCCL_DATA_TYPE_UINT8, HCCL_DATA_TYPE_UINT16, HCCL_DATA_TYPE_UINT32, HCCL_DATA_TYPE_UINT64, HCCL_RECV,
    HCCL_REDUCE_MAX, HCCL_REDUCE_MIN, HCCL_REDUCE_PROD, HCCL_REDUCE_SUM, HCCL_SEND, HcclApi, HcclComm, HcclCommConfig,
    HcclCommConfigInit, HcclDataType, HcclReduceOp, HcclResult, HcclRootInfo, HcclSendRecvItem, mindtorch_hccl_names,
    mindtorch_hccl_optional_names,
)
from mindtorch._npu.streams cimport (
    PLAIN_EVENT, Stream, capture_count, current_stream, get_event, is_capturing, is_complete, wait_for_event, record,
    return_event, synchronize_stream, thread_state, use_device, wait_stream,
)
from mindtorch._npu.structs cimport EventSlot, StreamSlot


cdef HcclApi api                     # `load` fills it; optional functions may stay NULL
cdef int[NUM_SCALAR_TYPES] TYPES     # ScalarType -> HcclDataType

SUM, PROD, MAX, MIN = HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN


for dtype in range(NUM_SCALAR_TYPES):
    TYPES[<int>dtype] = HCCL_DATA_TYPE_RESERVED
for dtype, code in ((Byte, HCCL_DATA_TYPE_UINT8), (Char, HCCL_DATA_TYPE_INT8), (Short, HCCL_DATA_TYPE_INT16),
                    (Int, HCCL_DATA_TYPE_INT32), (Long, HCCL_DATA_TYPE_INT64), (Half, HCCL_DATA_TYPE_FP16),
                    (Float, HCCL_DATA_TYPE_FP32), (Double, HCCL_DATA_TYPE_FP64), (Bool, HCCL_DATA_TYPE_UINT8),
                    (BFloat16, HCCL_DATA_TYPE_BFP16), (Float8_e5m2, HCCL_DATA_TYPE_FP8E5M2),
                    (Float8_e4m3fn, HCCL_DATA_TYPE_FP8E4M3), (Float8_e8m0fnu, HCCL_DATA_TYPE_FP8E8M0),
                    (UInt16, HCCL_DATA_TYPE_UINT16), (UInt32, HCCL_DATA_TYPE_UINT32), (UInt64, HCCL_DATA_TYPE_UINT64)):
    TYPES[<int>dtype] = code


def load():
    """Open CANN's collective library, the first time."""
    cdef list missing = []
    cdef void **member
    if api.HcclGetRootInfo != NULL:
        return
    library = open_hccl()
    member = find_symbols(<void **>&api, <const char **>mindtorch_hccl_names, [library._handle], missing)
    find_symbols(member, <const char **>mindtorch_hccl_optional_names, [library._handle], [])
    if missing:
        memset(&api, 0, sizeof(api))
        raise RuntimeError(f"{library._name} lacks {', '.join(missing)}, which torch.distributed needs. Install CANN "
                           f"{OLDEST} or newer")


cdef str meaning_of(HcclResult status):
    cdef const char *meaning
    if api.HcclGetErrorString == NULL:
        return ""
    meaning = api.HcclGetErrorString(status)
    return f" ({meaning.decode('utf-8', 'replace')})"


cdef int check(int status, const char *function) except -1:
    if status == 0:
        return 0
    text = f"NPU error: {function.decode()} failed with code {status}{meaning_of(<HcclResult>status)}"
    message = driver_message()
    raise RuntimeError(f"{text}\n{message}" if message else text)


def get_root_info(int device):
    """What the ranks of a new communicator need to find each other, as bytes, of which one rank tells the others."""
    cdef HcclRootInfo info
    cdef int status
    use_device(device)
    with nogil:
        status = api.HcclGetRootInfo(&info)
    check(status, b"HcclGetRootInfo")
    return info.internal[:sizeof(info)]


cdef uint64_t *counts_of(object counts, uint64_t *total) except NULL:
    # The counts, and behind them where each begins.
    cdef Py_ssize_t i, n = len(counts)
    cdef uint64_t *result = <uint64_t *>malloc(2 * (n + 1) * sizeof(uint64_t))
    if result == NULL:
        raise MemoryError()
    total[0] = 0
    try:
        for i in range(n):
            result[i] = counts[i]
            result[n + i] = total[0]
            total[0] += result[i]
    except BaseException:
        free(result)
        raise
    return result


cdef int add_use_of_tensors(list tensors, StreamSlot *stream) except -1:
    # `tensors` may have lists of tensors.
    for tensor in tensors:
        if isinstance(tensor, TensorBase):
            add_use_of_tensor(tensor, stream)
        else:
            add_use_of_tensors(tensor, stream)
    return 0


cdef Py_ssize_t number_of_pairs(list outputs, list inputs) except -1:
    if len(outputs) != len(inputs):
        raise ValueError(f"there are {len(outputs)} outputs for {len(inputs)} inputs")
    return len(outputs)


cdef class StreamWork:
    """A collective on a stream. Its end is an event: `wait` lets the current stream wait for it."""
    cdef EventSlot *end              # NULL: the collective is on the current stream
    cdef readonly object op_type, tensors
    cdef readonly Communicator communicator
    cdef public bint blocks          # whether `wait` lets the host wait, too

    def __dealloc__(self):
        if self.end != NULL:
            return_event(self.end)

    def is_completed(self):
        return self.end == NULL or bool(is_complete(self.end))

    def synchronize(self):
        if self.end != NULL:
            wait_for_event(current_stream(self.end.device), self.end)

    def wait(self, timeout=None):
        """The group's time-out counts, not `timeout`."""
        if self.end != NULL:
            wait_for_event(current_stream(self.end.device), self.end)
        if self.blocks:
            synchronize_stream(current_stream(self.communicator.device))
        return True


cdef class Communicator:
    """A rank of a group of devices. Its operations run on the current stream, in the order of the calls.

    Tensors are contiguous and on its device. The caller keeps them until the stream has done the operation.
    """
    cdef HcclComm handle
    cdef StreamSlot *last            # the stream of the last operation; NULL before the first
    cdef readonly int device
    cdef readonly int rank
    cdef readonly int size

    def __init__(self, bytes root_info not None, int size, int rank, int device, int32_t seconds):
        """Waits until all ranks are there. An operation that takes longer than `seconds` (0: no limit) is an error of
        the device."""
        cdef HcclRootInfo info
        cdef HcclCommConfig config
        cdef uint32_t known = 0 if api.HcclGetCommConfigCapability == NULL else api.HcclGetCommConfigCapability()
        cdef int status
        if len(root_info) != sizeof(info):
            raise ValueError(f"a root info has {sizeof(info)} bytes, got {len(root_info)}")
        memcpy(&info, <const char *>root_info, sizeof(info))
        self.device, self.rank, self.size = device, rank, size
        HcclCommConfigInit(&config)
        config.hcclExecTimeOut = seconds
        use_device(device)
        with nogil:
            if known > HCCL_COMM_CONFIG_EXEC_TIMEOUT and api.HcclCommInitRootInfoConfig != NULL:
                status = api.HcclCommInitRootInfoConfig(size, &info, rank, &config, &self.handle)
            else:                        # the environment variable HCCL_EXEC_TIMEOUT counts
                status = api.HcclCommInitRootInfo(size, &info, rank, &self.handle)
        check(status, b"HcclCommInitRootInfo")

    def synchronize(self):
        """Wait until all its operations are done."""
        if self.last != NULL and self.last.handle != NULL:
            synchronize_stream(self.last)    # which waits for the streams of those before

    def is_idle(self):
        """Whether all operations are done or have failed. True during a capture, when HCCL must not be asked."""
        cdef aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE
        if self.last == NULL or self.last.handle == NULL or capture_count != 0:
            return True
        use_device(self.device)
        return acl_api.aclrtStreamQuery(self.last.handle, &status) != 0 or status == ACL_STREAM_STATUS_COMPLETE

    def device_error(self):
        """The text of the error with which the stream of its operations has ended, or None."""
        cdef aclrtStreamStatus status
        cdef int code
        if self.last == NULL or self.last.handle == NULL or capture_count != 0:
            return None
        use_device(self.device)
        code = acl_api.aclrtStreamQuery(self.last.handle, &status)
        return None if code == 0 else f"NPU error {code}: {driver_message() or 'no message'}"

    def destroy(self):
        """Release it. Operations that are under way fail."""
        cdef int status
        cdef HcclComm handle = self.handle
        if handle == NULL:
            return
        self.handle = NULL
        with nogil:
            status = api.HcclCommDestroy(handle)
        check(status, b"HcclCommDestroy")

    def async_error(self):
        """The text of an error that HCCL has found since, or None."""
        cdef HcclResult error = <HcclResult>0
        if self.handle == NULL:
            return None
        check(api.HcclGetCommAsyncError(self.handle, &error), b"HcclGetCommAsyncError")
        if <int>error == 0:
            return None
        return f"HCCL error {<int>error}{meaning_of(error)}"

    cdef StreamSlot *ordered_stream(self) except NULL:
        # The current stream. HCCL does not order the operations of two streams, so the second stream waits.
        cdef StreamSlot *stream
        if self.handle == NULL:
            raise RuntimeError("the communicator was destroyed")
        use_device(self.device)
        stream = current_stream(self.device)
        if has_launches(self.device):              # HCCL's functions are not in `api`
            with nogil:
                drain_queue(self.device)
        if self.last != stream and not is_capturing(self.device):
            if self.last != NULL and self.last.handle != NULL:
                wait_stream(stream, self.last)
            self.last = stream
        return stream

    cdef void *address(self, TensorBase tensor) except? NULL:
        if tensor.device_type != NPU or tensor.device_index != self.device:
            raise RuntimeError(f"Tensors must be on device npu:{self.device}, got one on {tensor.device}")
        if not tensor.contiguous:
            raise ValueError("Tensors must be contiguous")
        if TYPES[<int>tensor.dtype] == HCCL_DATA_TYPE_RESERVED:
            raise TypeError(f"HCCL has no data type for {tensor.dtype}")
        return tensor.data_ptr()

    cdef void *output_address(self, TensorBase output, TensorBase input) except? NULL:
        # The address of `output`, which has the dtype of `input`.
        if output.dtype != input.dtype:
            raise TypeError(f"output tensor must have the same type as input tensor: {output.dtype}, {input.dtype}")
        bump_version(output)
        return self.address(output)

    def all_reduce(self, TensorBase output not None, TensorBase input not None, int op):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef int status
        with nogil:
            status = api.HcclAllReduce(sent, received, input.numel, dtype, <HcclReduceOp>op, self.handle, stream.handle)
        check(status, b"HcclAllReduce")

    def reduce(self, TensorBase output not None, TensorBase input not None, int op, int root):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef int status
        with nogil:
            status = api.HcclReduce(sent, received, input.numel, dtype, <HcclReduceOp>op, root, self.handle,
                                    stream.handle)
        check(status, b"HcclReduce")

    def broadcast(self, TensorBase tensor not None, int root):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *buffer = self.output_address(tensor, tensor)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>tensor.dtype]
        cdef int status
        with nogil:
            status = api.HcclBroadcast(buffer, tensor.numel, dtype, root, self.handle, stream.handle)
        check(status, b"HcclBroadcast")

    def scatter(self, TensorBase output not None, TensorBase input or None, int root):
        """`input` has the pieces of all ranks, one behind the other; None off the root."""
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = NULL if input is None else self.address(input)
        cdef void *received = self.output_address(output, output if input is None else input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>output.dtype]
        cdef int status
        with nogil:
            status = api.HcclScatter(sent, received, output.numel, dtype, root, self.handle, stream.handle)
        check(status, b"HcclScatter")

    def all_gather(self, TensorBase output not None, TensorBase input not None):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef int status
        if output.numel != input.numel * self.size:
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        with nogil:
            status = api.HcclAllGather(sent, received, input.numel, dtype, self.handle, stream.handle)
        check(status, b"HcclAllGather")

    def all_gather_v(self, TensorBase output not None, TensorBase input not None, counts):
        """`counts` has the number of elements of each rank."""
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef uint64_t total
        cdef uint64_t *pieces
        cdef int status
        if api.HcclAllGatherV == NULL:
            raise RuntimeError("the CANN toolkit in use has no HcclAllGatherV: install a newer release")
        pieces = counts_of(counts, &total)
        if total != <uint64_t>output.numel or pieces[self.rank] != <uint64_t>input.numel:
            free(pieces)
            raise ValueError(f"all_gather_v: rank {self.rank} of counts {list(counts)} has an input of {input.numel} "
                             f"elements and an output of {output.numel}")
        with nogil:
            status = api.HcclAllGatherV(sent, input.numel, received, pieces, pieces + self.size, dtype, self.handle,
                                        stream.handle)
            free(pieces)
        check(status, b"HcclAllGatherV")

    def reduce_scatter(self, TensorBase output not None, TensorBase input not None, int op):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef int status
        if input.numel != output.numel * self.size:
            raise ValueError("input tensor must be the same size as output size times world size")
        with nogil:
            status = api.HcclReduceScatter(sent, received, output.numel, dtype, <HcclReduceOp>op, self.handle,
                                           stream.handle)
        check(status, b"HcclReduceScatter")

    def reduce_scatter_v(self, TensorBase output not None, TensorBase input not None, counts, int op):
        """`counts` has the number of elements that each rank gets."""
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef uint64_t total
        cdef uint64_t *pieces
        cdef int status
        if api.HcclReduceScatterV == NULL:
            raise RuntimeError("the CANN toolkit in use has no HcclReduceScatterV: install a newer release")
        pieces = counts_of(counts, &total)
        if total != <uint64_t>input.numel or pieces[self.rank] != <uint64_t>output.numel:
            free(pieces)
            raise ValueError(f"reduce_scatter_v: rank {self.rank} of counts {list(counts)} has an input of "
                             f"{input.numel} elements and an output of {output.numel}")
        with nogil:
            status = api.HcclReduceScatterV(sent, pieces, pieces + self.size, received, output.numel, dtype,
                                            <HcclReduceOp>op, self.handle, stream.handle)
            free(pieces)
        check(status, b"HcclReduceScatterV")

    def all_to_all(self, TensorBase output not None, TensorBase input not None, output_counts, input_counts):
        """Counts are numbers of elements, from each rank and to each rank."""
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *sent = self.address(input)
        cdef void *received = self.output_address(output, input)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>input.dtype]
        cdef uint64_t total_in, total_out
        cdef uint64_t *to_ranks = counts_of(input_counts, &total_in)
        cdef uint64_t *from_ranks
        cdef int status
        try:
            from_ranks = counts_of(output_counts, &total_out)
        except BaseException:
            free(to_ranks)
            raise
        if total_in != <uint64_t>input.numel or total_out != <uint64_t>output.numel:
            free(to_ranks)
            free(from_ranks)
            raise ValueError(f"all_to_all: the input has {input.numel} elements for counts {list(input_counts)}, the "
                             f"output {output.numel} for counts {list(output_counts)}")
        with nogil:
            status = api.HcclAlltoAllV(sent, to_ranks, to_ranks + self.size, dtype, received, from_ranks,
                                       from_ranks + self.size, dtype, self.handle, stream.handle)
            free(to_ranks)
            free(from_ranks)
        check(status, b"HcclAlltoAllV")

    def send(self, TensorBase tensor not None, int peer):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *buffer = self.address(tensor)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>tensor.dtype]
        cdef int status
        with nogil:
            status = api.HcclSend(buffer, tensor.numel, dtype, peer, self.handle, stream.handle)
        check(status, b"HcclSend")

    def recv(self, TensorBase tensor not None, int peer):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef void *buffer = self.output_address(tensor, tensor)
        cdef HcclDataType dtype = <HcclDataType>TYPES[<int>tensor.dtype]
        cdef int status
        with nogil:
            status = api.HcclRecv(buffer, tensor.numel, dtype, peer, self.handle, stream.handle)
        check(status, b"HcclRecv")

    def batch_send_recv(self, list items not None):
        """`items` are (whether it is a send, tensor, peer). None of them waits for another."""
        cdef StreamSlot *stream = self.ordered_stream()
        cdef TensorBase tensor
        cdef int i, status, n = len(items)
        cdef HcclSendRecvItem *all = <HcclSendRecvItem *>malloc((n + 1) * sizeof(HcclSendRecvItem))
        if all == NULL:
            raise MemoryError()
        try:
            for i in range(n):
                sends, tensor, peer = items[i]
                all[i].sendRecvType = HCCL_SEND if sends else HCCL_RECV
                all[i].buf = self.address(tensor) if sends else self.output_address(tensor, tensor)
                all[i].count = tensor.numel
                all[i].dataType = <HcclDataType>TYPES[<int>tensor.dtype]
                all[i].remoteRank = peer
            with nogil:
                status = api.HcclBatchSendRecv(all, n, self.handle, stream.handle)
        finally:
            free(all)
        check(status, b"HcclBatchSendRecv")

    def barrier(self):
        cdef StreamSlot *stream = self.ordered_stream()
        cdef int status
        with nogil:
            status = api.HcclBarrier(self.handle, stream.handle)
        check(status, b"HcclBarrier")


cdef class Channel:
    """A communicator, and the stream of its collectives with async_op."""
    cdef readonly Communicator communicator
    cdef Stream stream
    cdef StreamWork waited_for       # all collectives that their callers wait for


cdef class GroupOnStreams:
    """How the collectives of a group run on streams: a base of the engine, which makes the channels.

    A collective is a function (communicator, outputs, inputs, opts), which calls methods of the communicator. Tensors
    are in lists.
    """
    cdef public dict _channels       # device index, or what `_connect` takes -> Channel
    cdef public object _recent, _coalesced
    cdef public long long _sequence_number
    cdef type work_type              # of StreamWork
    cdef bint blocks                 # whether `wait` lets the host wait
    cdef dict codes                  # reductions that HCCL has -> their codes

    def __init__(self, type work_type not None, bint blocks, dict codes not None):
        self.work_type, self.blocks, self.codes = work_type, blocks, codes
        self._channels = {}

    cdef StreamWork new_work(self, op_type, tensors, Communicator communicator):
        # A call of the class costs as much as one of HCCL.
        cdef StreamWork work = <StreamWork?>self.work_type.__new__(self.work_type)
        work.op_type, work.tensors, work.communicator, work.blocks = op_type, tensors, communicator, self.blocks
        return work

    def _make_channel(self, Communicator communicator not None, Stream stream not None):
        cdef Channel channel = Channel.__new__(Channel)
        channel.communicator, channel.stream = communicator, stream
        channel.waited_for = self.new_work(None, (), communicator)
        return channel

    def _run(self, op_type, list outputs not None, list inputs not None, opts, collective, Channel channel=None):
        """Run a collective on the current stream, or with async_op, where `opts` is None and in a coalescing manager,
        on the channel's, behind the work that the current one has so far. Returns its StreamWork."""
        cdef TensorBase first
        if channel is None:
            first = inputs[0] if inputs else outputs[0]
            channel = self._channels.get(first.device_index) or self._channel(first.device_index)
        self._sequence_number += 1
        self._recent.append(op_type)
        if opts is None or self._coalesced is not None or opts.asyncOp:
            return self.start(op_type, outputs, inputs, opts, collective, channel)
        collective(channel.communicator, outputs, inputs, opts)
        return channel.waited_for

    cdef StreamWork start(self, op_type, list outputs, list inputs, opts, collective, Channel channel):
        cdef int device = channel.communicator.device
        cdef StreamSlot *before = current_stream(device)
        cdef StreamSlot *stream = channel.stream.slot
        cdef StreamWork work = self.new_work(op_type, outputs, channel.communicator)
        wait_stream(stream, before)
        BACKENDS[<int>NPU].streams = True
        thread_state().streams[device] = stream      # the thread's Stream of `before` stays alive
        try:
            collective(channel.communicator, outputs, inputs, opts)
            work.end = get_event(device, PLAIN_EVENT)
            record(work.end, stream)
        finally:
            thread_state().streams[device] = before
        add_use_of_tensors(outputs, stream)
        if inputs is not outputs:
            add_use_of_tensors(inputs, stream)
        return work

    # Collectives: what HCCL does not reduce as it is, `_reduce_to` prepares.

    def _all_reduce(self, Communicator communicator not None, list outputs not None, list inputs not None, opts):
        cdef TensorBase tensor
        code = self.codes.get(opts.reduceOp)
        for tensor in outputs:
            if code is not None and KIND[<int>tensor.dtype] == FLOAT_KIND:
                communicator.all_reduce(tensor, tensor, code)
            else:
                self._reduce_to(communicator, Communicator.all_reduce, tensor, tensor, opts.reduceOp)

    def _reduce_scatters(self, Communicator communicator not None, list outputs not None, list inputs not None, opts):
        cdef TensorBase output, tensor
        cdef Py_ssize_t i
        code = self.codes.get(opts.reduceOp)
        for i in range(number_of_pairs(outputs, inputs)):
            output, tensor = outputs[i], inputs[i]
            if code is not None and KIND[<int>tensor.dtype] == FLOAT_KIND:
                communicator.reduce_scatter(output, tensor, code)
            else:
                self._reduce_to(communicator, Communicator.reduce_scatter, output, tensor, opts.reduceOp)

    def _all_gathers(self, Communicator communicator not None, list outputs not None, list inputs not None, opts):
        cdef Py_ssize_t i
        for i in range(number_of_pairs(outputs, inputs)):
            communicator.all_gather(outputs[i], inputs[i])
