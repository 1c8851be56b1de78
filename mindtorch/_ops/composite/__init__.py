"""Operators in Python over other operators, for all devices, without a kernel or a derivative of their own."""
