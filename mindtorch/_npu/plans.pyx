"""Formulas that launch again what an equal call has launched.

A formula is many launches, and what one of them costs the host is mostly what phase 1 finds out: the same each time, if
the operands have the same shapes, strides and dtypes. So a second call that is equal in all this is recorded. Its
executors are made repeatable (aclSetAclOpExecutorRepeatable), and kept. From the third call on they get the addresses
of the new operands (aclSetTensorAddr) and are launched, with the formula's own memory in one block.

1. Only what depends on the arguments alone is recorded: a formula that reads from the device, copies to or from the
   host or draws random numbers gives up (`give_up`), and runs as it is from then on.
2. Nothing is recorded or launched again while a graph is captured, and while a profile or ACL_LAUNCH_BLOCKING wants to
   see launches. A plan with tables of numbers is over once the process uses several streams: the tables are then made
   anew in each call, in its order (constants.pyx), and so copied to the device.
3. Whatever changes what phase 1 finds out, as set_deterministic_level does, makes all plans forgotten.
"""
from libc.string cimport memcmp, memcpy

from mindtorch._core.device cimport BACKENDS, CPU, NPU
from mindtorch._core.dtype cimport ITEMSIZE, default_dtype
from mindtorch._core.scalar cimport SCALAR_TYPES
from mindtorch._core.tensor cimport Storage
from mindtorch._npu.allocator cimport allocate_block
from mindtorch._npu.errors import check_status
from mindtorch._npu.handles cimport captures, current_stream, thread_state, use_device
from mindtorch._npu.launch cimport WATCHED, let_go
from mindtorch._npu.plan cimport READY, RECORDING, SCRATCH, SEEN, Patch, Step
from mindtorch._npu.records cimport Block, StreamSlot
from mindtorch._npu.symbols cimport api

cdef enum:
    KINDS = 16                   # of calls of one formula: the oldest one makes room
    MOST = 1024                  # formulas, and parts of formulas
    DIMS = 8                     # of ACLNN's tensors

cdef dict PLANS = {}             # name, or key of `planned` -> Plans


cdef Plans plans_of(object key):
    plans = PLANS.get(key)
    if plans is None:
        if len(PLANS) == MOST:
            return None
        plans = PLANS[key] = Plans.__new__(Plans)
        (<Plans>plans).kept = []
    return plans


def forget():
    """Frees all executors that are kept, and what they hold."""
    cdef Plans plans
    for plans in PLANS.values():
        plans.kept = []
        plans.oldest = 0


# --- keys ------------------------------------------------------------------------------------------------------------

cdef int open_key(Key *key, TensorBase out) noexcept:
    key.unfit = (out.device_type != NPU or thread_state().plan != NULL or WATCHED or captures != 0
                 or api.aclSetTensorAddr == NULL or api.aclSetAclOpExecutorRepeatable == NULL)
    key.device = out.device_index
    key.memories = 0
    key.length = 2
    key.words[0] = key.device
    key.words[1] = default_dtype()
    return 0


cdef inline int64_t *more(Key *key, int count) noexcept:
    """Room for so many words; somewhere, where there is none left."""
    if key.length + count > KEY_WORDS:
        key.unfit = True
        key.length = 0
    key.length += count
    return key.words + key.length - count


cdef int add_int(Key *key, int64_t number) noexcept:
    more(key, 1)[0] = number
    return 0


cdef int add_double(Key *key, double number) noexcept:
    memcpy(more(key, 1), &number, sizeof(number))
    return 0


cdef int add_ints(Key *key, const Shape *ints) noexcept:
    add_int(key, ints.ndim)
    memcpy(more(key, ints.ndim), ints.sizes, ints.ndim * sizeof(int64_t))
    return 0


cdef int add_scalar(Key *key, const Scalar *number) noexcept:
    if number == NULL:
        return add_int(key, -1)
    add_int(key, number.kind)
    add_int(key, number.integer)
    add_double(key, number.real)
    return add_double(key, number.imag)


cdef int add_tensor(Key *key, TensorBase tensor) noexcept:
    cdef int64_t *words
    cdef int64_t[2] number = [0, 0]
    if tensor is None:
        return add_int(key, -1)
    add_int(key, tensor.dtype + SCALAR_TYPES * tensor.ndim)
    if tensor.device_type == CPU and tensor.ndim == 0:          # a number, which formulas read
        memcpy(number, tensor.data_ptr(), ITEMSIZE[<int>tensor.dtype])
        memcpy(more(key, 2), number, sizeof(number))
        return 0
    if tensor.device_index != key.device or tensor.device_type == CPU or tensor.ndim > DIMS:
        key.unfit = True
        return 0
    words = more(key, 3 + 2 * tensor.ndim)
    words[0] = place_of(key, tensor.storage)
    words[1] = tensor.offset
    words[2] = tensor.storage.nbytes
    memcpy(words + 3, tensor.sizes, tensor.ndim * sizeof(int64_t))
    memcpy(words + 3 + tensor.ndim, tensor.strides, tensor.ndim * sizeof(int64_t))
    return 0


cdef int place_of(Key *key, Storage storage) noexcept:
    cdef int i
    for i in range(key.memories):
        if key.storages[i] == <void *>storage:
            return i
    if key.memories == MEMORIES:
        key.unfit = True
        return 0
    key.storages[key.memories] = <void *>storage
    key.memories += 1
    return key.memories - 1


# --- plans -----------------------------------------------------------------------------------------------------------

cdef Plan find_plan(Plans plans, Key *key):
    cdef Plan plan
    if key.unfit or plans is None:
        return None
    for plan in plans.kept:
        if plan.length == key.length and memcmp(<const char *>plan.key, key.words, key.length * sizeof(int64_t)) == 0:
            return plan if plan.state == SEEN or may_run(plan) else None
    plan = Plan.__new__(Plan)
    plan.key = (<char *>key.words)[:key.length * sizeof(int64_t)]
    plan.length = key.length
    if len(plans.kept) < KINDS:
        plans.kept.append(plan)
    else:
        plans.kept[plans.oldest] = plan
        plans.oldest = (plans.oldest + 1) % KINDS
    return None


cdef bint may_run(Plan plan) noexcept:
    return plan.state == READY and not plan.busy and not (plan.tables and BACKENDS[<int>NPU].streams)


cdef bint is_ready(Plan plan) noexcept:
    return plan.state == READY


cdef int record_launches(Plan plan, const Key *key) except -1:
    cdef int i
    plan.state = RECORDING               # before another thread may run
    return plan.record([<Storage>key.storages[i] for i in range(key.memories)])


cdef int relaunch(Plan plan, const Key *key) except -1:
    cdef StreamSlot *stream
    cdef Block *scratch = NULL
    cdef const char *failed = b"aclSetTensorAddr"
    cdef int status = 0
    plan.busy = True                     # before another thread may run
    try:
        stream = current_stream(key.device)
        if plan.scratch_size + plan.workspace_size != 0:
            scratch = allocate_block(plan.scratch_size + plan.workspace_size, stream)
        use_device(key.device)           # the allocator may have looked after other devices
        status = move(plan, key, NULL if scratch == NULL else scratch.address)
        if status == 0:
            stream.launches += 1
            with nogil:
                failed = launch_all(plan, NULL if scratch == NULL else scratch.address + plan.scratch_size, stream,
                                    &status)
            stream.launches -= 1
    finally:
        plan.busy = False
        if scratch != NULL:
            let_go(scratch, stream)
    if status != 0:
        plan.clear()                     # what has failed is found out anew
        plan.state = SEEN
        check_status(status, failed.decode())
    return 0


cdef int move(Plan plan, const Key *key, char *scratch) noexcept:
    """Gives the executors the addresses that are others than in the last call; returns what CANN says."""
    cdef unsigned int moved = 0
    cdef char *address
    cdef int i, status
    cdef Patch *patch
    for i in range(key.memories):
        address = (<Storage>key.storages[i]).data
        if address != plan.addresses[i]:
            plan.addresses[i] = address
            moved |= 1 << i
    if scratch != plan.addresses[<int>SCRATCH]:
        plan.addresses[<int>SCRATCH] = scratch
        moved |= 1 << SCRATCH
    for i in range(plan.patch_count if moved else 0):
        patch = &plan.patches[i]
        if (moved >> patch.place) & 1:
            status = api.aclSetTensorAddr(plan.steps[patch.step].executor, patch.index, patch.descriptor,
                                          plan.addresses[patch.place] + patch.offset)
            if status != 0:
                return status
    return 0


cdef const char *launch_all(Plan plan, char *workspace, StreamSlot *stream, int *status) noexcept nogil:
    """The name of the operator that has failed, NULL where none has."""
    cdef int i
    cdef Step *step
    for i in range(plan.step_count):
        step = &plan.steps[i]
        status[0] = step.phase2(workspace if step.workspace_size != 0 else NULL, step.workspace_size, step.executor,
                                stream.handle)
        if status[0] != 0:
            return step.name
    return NULL


# --- parts of formulas -----------------------------------------------------------------------------------------------

cdef int planned(object compute, tuple arguments, tuple operands) except -1:
    cdef Key key
    cdef TensorBase operand
    cdef bint complete = False
    open_key(&key, operands[len(operands) - 1])
    for operand in operands:
        add_tensor(&key, operand)
    cdef Plan plan = None if key.unfit else find_plan(plans_of((compute, arguments)), &key)
    if plan is None:
        compute(*arguments, *operands)
        return 0
    if is_ready(plan):
        return relaunch(plan, &key)
    record_launches(plan, &key)
    try:
        compute(*arguments, *operands)
        complete = True
    finally:
        plan.stop(complete)
    return 0
