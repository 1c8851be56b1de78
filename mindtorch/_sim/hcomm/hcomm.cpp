// This library has no code of its own: newer CANN has a part of HCCL in libhcomm.so, and programs link with it. Here
// all of HCCL is in libhccl.so.
