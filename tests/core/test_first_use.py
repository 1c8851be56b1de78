"""An operator reads its row at its first use: two threads may come to that at the same time."""
import subprocess
import sys

PROGRAM = """
import threading
import mindtorch as torch
from mindtorch._core._gen import rows

inside, finished = threading.Event(), threading.Event()

class Arguments(tuple):
    def __iter__(self):
        if threading.current_thread() is second:
            inside.set()
            finished.wait()
        return super().__iter__()

class Flag:         # is read behind the arguments
    def __bool__(self):
        if not second.ident:
            second.start()
            inside.wait(0.1)
        return False

row = rows.ROWS["addcmul"]
rows.ROWS["addcmul"] = row | {"differentiable": Arguments(row["differentiable"]), "saves_self": Flag()}
x = torch.ones(2, requires_grad=True)
second = threading.Thread(target=torch.addcmul, args=(x, x, x))
print(torch.addcmul(x, x, x).requires_grad)
finished.set()
second.join()
print(torch.addcmul(x, x, x).requires_grad)
"""


def test_a_second_thread_does_not_read_a_row_again():
    shown = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["True", "True"]
