"""torch.cuda.sparse: the classes of sparse CUDA tensors, of which there are none."""
