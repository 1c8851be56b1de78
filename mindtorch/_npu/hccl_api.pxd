"""What mindtorch calls of HCCL: types and enums of its header, and HcclApi, which holds its functions."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

from mindtorch._npu.cann cimport aclrtStream


cdef extern from "hccl/hccl.h" nogil:
    ctypedef void *HcclComm

    ctypedef enum HcclResult:
        HCCL_SUCCESS

    ctypedef enum HcclDataType:
        HCCL_DATA_TYPE_INT8
        HCCL_DATA_TYPE_INT16
        HCCL_DATA_TYPE_INT32
        HCCL_DATA_TYPE_FP16
        HCCL_DATA_TYPE_FP32
        HCCL_DATA_TYPE_INT64
        HCCL_DATA_TYPE_UINT64
        HCCL_DATA_TYPE_UINT8
        HCCL_DATA_TYPE_UINT16
        HCCL_DATA_TYPE_UINT32
        HCCL_DATA_TYPE_FP64
        HCCL_DATA_TYPE_BFP16
        HCCL_DATA_TYPE_FP8E4M3
        HCCL_DATA_TYPE_FP8E5M2
        HCCL_DATA_TYPE_FP8E8M0
        HCCL_DATA_TYPE_RESERVED

    ctypedef enum HcclReduceOp:
        HCCL_REDUCE_SUM
        HCCL_REDUCE_PROD
        HCCL_REDUCE_MAX
        HCCL_REDUCE_MIN

    ctypedef enum HcclSendRecvType:
        HCCL_SEND
        HCCL_RECV

    ctypedef struct HcclRootInfo:
        char internal[4108]

    ctypedef struct HcclCommConfig:
        int32_t hcclExecTimeOut

    ctypedef struct HcclSendRecvItem:
        HcclSendRecvType sendRecvType
        void *buf
        uint64_t count
        HcclDataType dataType
        uint32_t remoteRank

    enum:
        HCCL_COMM_CONFIG_EXEC_TIMEOUT

    void HcclCommConfigInit(HcclCommConfig *config)

cdef extern from "mindtorch/hccl_api.h" nogil:
    const char *mindtorch_hccl_names[]
    const char *mindtorch_hccl_optional_names[]

    ctypedef struct HcclApi:
        HcclResult (*HcclGetRootInfo)(HcclRootInfo *) noexcept nogil
        HcclResult (*HcclCommInitRootInfo)(uint32_t, const HcclRootInfo *, uint32_t,
                                           HcclComm *) noexcept nogil
        HcclResult (*HcclCommInitRootInfoConfig)(uint32_t, const HcclRootInfo *, uint32_t,
                                                 const HcclCommConfig *,
                                                 HcclComm *) noexcept nogil
        uint32_t (*HcclGetCommConfigCapability)() noexcept nogil
        HcclResult (*HcclCommDestroy)(HcclComm) noexcept nogil
        HcclResult (*HcclGetCommAsyncError)(HcclComm, HcclResult *) noexcept nogil
        const char *(*HcclGetErrorString)(HcclResult) noexcept nogil
        HcclResult (*HcclAllReduce)(void *, void *, uint64_t, HcclDataType, HcclReduceOp, HcclComm,
                                    aclrtStream) noexcept nogil
        HcclResult (*HcclReduce)(void *, void *, uint64_t, HcclDataType, HcclReduceOp, uint32_t,
                                 HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclBroadcast)(void *, uint64_t, HcclDataType, uint32_t, HcclComm,
                                    aclrtStream) noexcept nogil
        HcclResult (*HcclScatter)(void *, void *, uint64_t, HcclDataType, uint32_t, HcclComm,
                                  aclrtStream) noexcept nogil
        HcclResult (*HcclAllGather)(void *, void *, uint64_t, HcclDataType, HcclComm,
                                    aclrtStream) noexcept nogil
        HcclResult (*HcclAllGatherV)(void *, uint64_t, void *, const void *, const void *,
                                     HcclDataType, HcclComm,
                                     aclrtStream) noexcept nogil
        HcclResult (*HcclReduceScatter)(void *, void *, uint64_t, HcclDataType, HcclReduceOp,
                                        HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclReduceScatterV)(void *, const void *, const void *, void *, uint64_t, HcclDataType,
                                         HcclReduceOp, HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclAlltoAllV)(const void *, const void *, const void *, HcclDataType,
                                    const void *, const void *,
                                    const void *, HcclDataType, HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclSend)(void *, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclRecv)(void *, uint64_t, HcclDataType, uint32_t, HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclBatchSendRecv)(HcclSendRecvItem *, uint32_t, HcclComm, aclrtStream) noexcept nogil
        HcclResult (*HcclBarrier)(HcclComm, aclrtStream) noexcept nogil
