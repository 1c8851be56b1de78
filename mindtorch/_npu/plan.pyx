"""Recording: how the launches of a formula become a plan. See plans.pyx for when that happens."""
from cpython.ref cimport PyObject, Py_XDECREF
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from mindtorch._npu.deferred cimport OBJECT, destroy, destroy_executor
from mindtorch._npu.handles cimport thread_state
from mindtorch._npu.symbols cimport api

cdef enum:
    STEPS = 64                   # a formula of more launches is long enough to hide what the host does for it
    PATCHES = 4 * STEPS
    HANDLES = 8 * STEPS
    ATTEMPTS = 2                 # the first one may bring tables to the device, where the second one finds them
    LINE = 512                   # bytes: where each storage begins in the block
    SCRATCH_LIMIT = 1 << 20      # with more memory than that, kernels take longer than the host

cdef uint64_t launches = 0       # that have been recorded


cdef class Plan:

    def __dealloc__(self):
        self.clear()

    cdef int clear(self) noexcept:
        """Frees what it keeps of launches; the key stays."""
        cdef int i
        for i in range(self.step_count):
            destroy_executor(self.steps[i].executor)
        for i in range(self.held_count):
            if self.held[i].kind == OBJECT:
                Py_XDECREF(<PyObject *>self.held[i].handle)
            else:
                destroy(self.held[i].handle, self.held[i].kind)
        self.step_count = self.held_count = self.patch_count = 0
        free(self.steps)
        free(self.held)
        free(self.patches)
        self.steps, self.held, self.patches = NULL, NULL, NULL
        self.operands = self.made = self.tables = None
        self.scratch_size = self.workspace_size = 0
        memset(self.addresses, 0, sizeof(self.addresses))
        return 0

    cdef int record(self, list operands) except -1:
        cdef int i
        self.attempts += 1
        self.steps = <Step *>malloc(STEPS * sizeof(Step))
        self.patches = <Patch *>malloc(PATCHES * sizeof(Patch))
        self.held = <Held *>malloc(HANDLES * sizeof(Held))
        if self.steps == NULL or self.patches == NULL or self.held == NULL:
            self.clear()
            self.state = REFUSED
            raise MemoryError()
        self.operands, self.made, self.tables = operands, [], []
        for i in range(len(operands)):
            self.addresses[i] = (<Storage>operands[i]).data
        begin(self)
        return 0

    cdef int stop(self, bint complete) noexcept:
        cdef int i
        if thread_state().plan == <void *>self:
            end()
        for i in range(len(self.operands) if self.state == RECORDING else 0):
            complete = complete and self.addresses[i] == (<Storage>self.operands[i]).data
        if self.state == RECORDING and complete:
            self.operands = self.made = None
            self.steps = <Step *>trimmed(self.steps, self.step_count * sizeof(Step))
            self.patches = <Patch *>trimmed(self.patches, self.patch_count * sizeof(Patch))
            self.held = <Held *>trimmed(self.held, self.held_count * sizeof(Held))
            self.state = READY
            return 0
        self.clear()
        self.state = SEEN if self.attempts < ATTEMPTS else REFUSED
        return 0


cdef void *trimmed(void *items, size_t size) noexcept:
    cdef void *smaller = realloc(items, max(size, 1))
    return items if smaller == NULL else smaller


cdef int begin(Plan plan) noexcept:
    global recordings
    recordings += 1
    thread_state().plan = <void *>plan
    return 0


cdef int end() noexcept:
    global recordings
    recordings -= 1
    thread_state().plan = NULL
    return 0


cdef int give_up() noexcept:
    cdef void *plan = NULL if recordings == 0 else thread_state().plan
    if plan != NULL:
        end_launch()
        end()
        (<Plan>plan).clear()
        (<Plan>plan).state = REFUSED
    return 0


cdef int note_storage(Storage storage) except -1:
    cdef Plan plan = <Plan>thread_state().plan
    plan.made.append(storage)
    plan.scratch_size += rounded(storage.nbytes)
    if plan.scratch_size > SCRATCH_LIMIT:
        give_up()
    return 0


cdef size_t rounded(size_t nbytes) noexcept:
    return (nbytes + LINE - 1) // LINE * LINE


cdef int note_launch(void *recording) noexcept:
    """CANN keeps executors, by what their calls look like: those could not be repeated. So the call gets a name."""
    global launches
    cdef Plan plan = <Plan>recording
    plan.index = 0
    launches += 1
    plan.launch = launches
    if api.SetPTACacheHashKey != NULL and api.InitPTACacheThreadLocal != NULL:
        api.InitPTACacheThreadLocal()
        api.SetPTACacheHashKey(<uint8_t *>&plan.launch, sizeof(plan.launch))
    return 0


cdef int end_launch() noexcept:
    if api.UnInitPTACacheThreadLocal != NULL:
        api.UnInitPTACacheThreadLocal()
    return 0


cdef int note_tensor(void *recording, aclTensor *descriptor, TensorBase tensor) except -1:
    cdef Plan plan = <Plan>recording
    cdef Patch *patch
    if plan.state != RECORDING:
        return 0
    if plan.patch_count == PATCHES:
        return give_up()
    patch = &plan.patches[plan.patch_count]
    patch.descriptor, patch.index, patch.step = descriptor, plan.index, plan.step_count
    plan.index += 1
    if tensor is not None and find_place(plan, tensor.storage, patch):
        plan.patch_count += 1
    return 0


cdef bint find_place(Plan plan, Storage storage, Patch *patch) except -1:
    """Where the memory is, of which each call has another; False for a table's, which stays."""
    cdef Storage other
    cdef int i
    patch.offset = 0
    for i in range(len(plan.operands)):
        if plan.operands[i] is storage:
            patch.place = i
            return True
    for other in plan.made:
        if other is storage:
            patch.place = SCRATCH
            return True
        patch.offset += rounded(other.nbytes)
    plan.tables.append(storage)
    return False


cdef bint keep_step(void *recording, aclOpExecutor *executor, Phase2 phase2, const char *name, uint64_t workspace_size,
                    void **handles, const unsigned char *kinds, int count) noexcept:
    cdef Plan plan = <Plan>recording
    cdef int i
    if plan.state != RECORDING:
        return False
    if (plan.step_count == STEPS or plan.held_count + count > HANDLES
            or api.aclSetAclOpExecutorRepeatable(executor) != 0):
        give_up()
        return False
    end_launch()
    plan.steps[plan.step_count] = Step(executor, phase2, name, workspace_size)
    plan.step_count += 1
    for i in range(count):
        plan.held[plan.held_count] = Held(handles[i], kinds[i])
        plan.held_count += 1
    plan.workspace_size = max(plan.workspace_size, workspace_size)
    return True
