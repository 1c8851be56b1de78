"""Derivatives that are longer than one expression; the column `grad` of a row calls them by name.

Each gives the gradient of one operand. They are written with operators, so they run on the device of the gradient and
can themselves be differentiated. The engine sums a gradient to the shape of its operand and casts it to its dtype;
these functions need not. Conventions at points without a derivative are those of torch 2.13.
"""
