"""torch.onnx.symbolic_opset11: the operators of an ONNX opset. Without an exporter there are none to call."""
