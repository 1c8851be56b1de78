"""Executors that CANN keeps: a call that was made before finds its own by a key, without descriptors and phase 1."""
import os

from libc.stdint cimport intptr_t, uint8_t, uint64_t
from libc.string cimport memcpy, strlen

from mindtorch._core.tensor.tensor cimport TensorBase
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport aclOpExecutor
from mindtorch._npu.launch_queue cimport missed_look_ups
from mindtorch._npu.streams cimport thread_state


# --- keys ------------------------------------------------------------------------------------------------------------


cdef bint add_tensors(Key *key, list tensors) noexcept:
    if not add_word(key, <uint64_t>len(tensors)):
        return False
    for tensor in tensors:
        if not isinstance(tensor, TensorBase) or not add_tensor(key, <TensorBase>tensor):
            return False
    return True


cdef bint add_text(Key *key, const char *text) noexcept nogil:
    cdef size_t length = strlen(text)
    if length > MAX_TEXT or not add_word(key, length):
        return False
    key.text[key.words + length // 8] = 0
    memcpy(&key.text[key.words], text, length)
    key.words += <int>(length // 8 + 1)
    return has_room(key)


cdef dict VALUES = {}           # of the settings
cdef dict NUMBERS = {}          # of all values that there have been


def note_thread_limits(intptr_t stream):
    """To be called when the limits of a driver's stream become those of the calling thread; 0: of none."""
    thread_state().limits = <void *>stream


def note_setting(tuple name, value):
    """To be called when a setting that phase 1 reads has changed. None: it has its default again."""
    global settings
    if value is None:
        VALUES.pop(name, None)
    else:
        VALUES[name] = value
    settings = NUMBERS.setdefault(frozenset(VALUES.items()), len(NUMBERS) + 1)


# --- look-ups --------------------------------------------------------------------------------------------------------
# CANN's hooks (include/aclnn/op_cache.h) are there or the cache is off. They keep what belongs to a call in the calling
# thread. No Python code runs between `find_executor` and `end_look_up`.


cdef dict SWITCH = {"0": False, "1": True}
cdef uint64_t misses


def enable():
    """Called when CANN has been loaded."""
    global enabled
    chosen = os.environ.get("MINDTORCH_EXECUTOR_CACHE") or "1"
    if chosen not in SWITCH:
        raise ValueError(f"MINDTORCH_EXECUTOR_CACHE is {chosen!r}, expected 0 or 1")
    enabled = SWITCH[chosen] and api.CanUsePTACache != NULL and api.InitPTACacheThreadLocal != NULL and (
        api.UnInitPTACacheThreadLocal != NULL) and api.AddTensorAddrToCachedList != NULL and (
        api.SetPTACacheHashKey != NULL) and api.PTAFindExecCache != NULL


DEFAULT_LIMIT = 10_000          # of CANN


def stats():
    """{"hits": launches of found executors, "misses": of others that CANN may keep, "limit": of calls that it keeps,
    "size": how many it keeps at most; CANN does not tell the number}"""
    missed = missed_look_ups()                 # by threads of queues, for calls that were found before
    limit = os.environ.get("ACLNN_CACHE_LIMIT", "")
    limit = int(limit) if limit.isdecimal() else DEFAULT_LIMIT
    return {"hits": hits - missed, "misses": misses + missed, "size": min(misses + missed, limit), "limit": limit}


cdef LookUp find_executor(Key *key, const char *name, aclOpExecutor **executor, uint64_t *workspace_size) noexcept:
    global enabled, hits, misses
    cdef size_t length = key.words * sizeof(uint64_t)
    cdef int i
    if not api.CanUsePTACache(name):
        enabled = hits + misses != 0            # at the first call: CANN's cache is switched off
        return NOT_KEPT
    api.InitPTACacheThreadLocal()
    for i in range(key.tensors):
        api.AddTensorAddrToCachedList(key.storages[i])
    api.SetPTACacheHashKey(<uint8_t *>key.text, length)
    executor[0] = api.PTAFindExecCache(<uint8_t *>key.text, length, workspace_size)
    if executor[0] == NULL:
        misses += 1
        return MISSED
    end_look_up()
    hits += 1
    return FOUND
