"""torch.testing.FileCheck beside torch's."""
import pytest
from torch.testing import FileCheck as Theirs

from mindtorch.testing import FileCheck as Ours

CASES = {
    "in order": (lambda f: f.check("a").check("d"),
    "b a c\nd"), "out of order": (lambda f: f.check("d").check("a"), "a\nd"),
    "not": (lambda f: f.check_not("a"),
    "b a"), "not before": (lambda f: f.check("b").check_not("c").check("d"), "b c d"),
    "not until then": (lambda f: f.check("b").check_not("c").check("d"), "b d c"),
    "next": (lambda f: f.check("b").check_next("d"),
    "b a\nd"), "not the next": (lambda f: f.check("b").check_next("a"), "b a\nd"),
    "same": (lambda f: f.check("b").check_same("a"),
    "b a\nd"), "not the same": (lambda f: f.check("b").check_same("d"), "b a\nd"),
    "count": (lambda f: f.check_count("a", 2), "a a a"),
    "exactly": (lambda f: f.check_count("a", 2, exactly=True), "a a a"),
    "too few": (lambda f: f.check_count("a", 2), "a"),
    "any order": (lambda f: f.check_dag("x").check_dag("y").check("z"), "y x z"),
    "any order, then not": (lambda f: f.check_dag("x").check_dag("y").check_not("q"), "y x q"),
    "expression": (lambda f: f.check_regex("b+").check("c"), "bbb c"), "nothing": (lambda f: f, "x"),
    "comments": (lambda f: f, "# CHECK: foo\n# CHECK-NEXT: bar\n# CHECK-NOT: q\n", "foo\nbar"),
    "wrong comments": (lambda f: f, "# CHECK: foo\n# CHECK-NOT: bar\n", "foo\nbar"),
    "count in comments": (lambda f: f, "# CHECK-COUNT-2: z\n", "z z"),
}


@pytest.mark.parametrize("name", CASES)
def test_checks(name):
    make, *texts = CASES[name]

    def run(kind):
        try:
            make(kind()).run(*texts)
        except RuntimeError as error:
            return str(error).partition(" in the ")[0][:25]
        return "passed"
    ours, theirs = run(Ours), run(Theirs)
    assert (ours == "passed") == (theirs == "passed")
    if "same" not in name and "next" not in name:           # where torch names the line break
        assert ours == theirs


def test_what_it_says():
    assert repr(Ours().check("a").check_count("b", 2)) == "FileCheck checks:\n\tCHECK: a\n\tCHECK-COUNT-2: b\n"
    with pytest.raises(RuntimeError, match="b a\n  ~ <--- HERE\nFrom CHECK-NOT: a"):
        Ours().check_not("a").run("x\nb a\nc")
