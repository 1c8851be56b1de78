// Without code: newer CANN has a part of HCCL in libhcomm.so, and programs link with it; here all of it is in libhccl.so.
