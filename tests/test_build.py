"""The build: how much C it makes, and what it compiles again after a change."""
from pathlib import Path

import pytest

from mindtorch._ops.codegen import dependencies

ROOT = Path(__file__).parent.parent
MODULES = [path.with_suffix(".c") for path in sorted((ROOT / "mindtorch").rglob("*.pyx"))]
SIMULATOR = [path for path in sorted((ROOT / "mindtorch" / "_sim").rglob("*.cpp")) if "toolkit" not in path.parts]
MAX_MODULES, MAX_LINES = 40, 700_000          # of generated C, with the module of what Cython's modules share
HEADER = """
#ifndef A_H_
#define A_H_
#define A_LIMIT 4
/* int unseen(void); */
#ifdef __cplusplus
extern "C" {
#endif
typedef enum aKind {
  A_ONE = 1,
  A_TWO = 2,
} aKind;
typedef struct aOptions {
  aKind kind;
  char name[A_LIMIT];
} aOptions;
typedef void (*aCallback)(void *);
int aStart(aOptions *options);
int aStop(aCallback callback,
          int code);
static inline void aInit(aOptions *options) {
  options->kind = A_ONE;
}
#ifdef __cplusplus
}
#endif
#endif
"""


@pytest.mark.quick
def test_generated_c_stays_within_its_limits():
    """design.md, section 2, says what costs lines."""
    shared = ROOT / "mindtorch" / "_core" / "_gen" / "cython_shared.c"
    files = [*MODULES, shared]
    missing = [path for path in files if not path.exists()]
    assert not missing, f"not built in place: {missing}"
    assert len(files) <= MAX_MODULES
    lines = {path: path.read_bytes().count(b"\n") for path in files}
    assert sum(lines.values()) < MAX_LINES, "\n".join(f"{count} {path}" for path, count in lines.items())


@pytest.mark.quick
@pytest.mark.parametrize(("source", "used"), [
    ("int main(void) { return 0; }", set()),
    ("aStop(NULL, 0);", {"aStop", "aCallback"}),
    ("aStart(&options);", {"aStart", "aOptions", "aKind", "A_LIMIT"}),
    ("int kind = A_TWO;", {"aKind"}),
    ("aInit(NULL);", {"aInit", "aOptions", "aKind", "A_LIMIT"}),
    ("#define CALL(name) aSt##name()\nCALL(op);", {"aStart", "aStop", "aCallback", "aOptions", "aKind", "A_LIMIT"}),
])
def test_a_source_uses_the_declarations_that_it_names(source, used):
    found = dependencies.used_declarations([HEADER], [source])
    names = {"aKind", "aOptions", "aCallback", "aStart", "aStop", "aInit", "A_LIMIT"}
    declared = set().union(*(dependencies.declared_names(each) for each in found if not each.startswith(("#i", "#e"))))
    assert declared & names == used
    conditions = [each for each in found if each.startswith("#i")]
    assert conditions == ["#ifndef A_H_", "#ifdef __cplusplus", "#ifdef __cplusplus"]


def compiled_again(monkeypatch, header, old, new):
    """The sources that the build compiles again after a change of the text of a header in include/."""
    def read(path):
        text = path.read_text(encoding="utf-8")
        if path == Path("include", header):
            assert old in text
            return text.replace(old, new, 1)
        return text

    monkeypatch.chdir(ROOT)
    stamps = {}
    for path in [*MODULES, *SIMULATOR]:
        source = str(path.relative_to(ROOT))
        headers = dependencies.headers_of(source, ("include", "mindtorch/_npu/_gen", "mindtorch/_sim"))
        stamps[source] = dependencies.Stamp("stamp", "target", [source], headers)
    return {source for source, stamp in stamps.items() if stamp.cann and stamp.digest() != stamp.digest(read)}


@pytest.mark.parametrize("header", ["acl/acl_rt.h", "acl/acl_base_rt.h", "aclnn/acl_meta.h", "hccl/hccl.h"])
def test_a_new_declaration_recompiles_nothing_until_something_uses_it(monkeypatch, header):
    new = "typedef struct aclNew {\n  int32_t number;\n} aclNew;\naclError aclrtNew(aclNew *options);\n"
    assert compiled_again(monkeypatch, header, "#endif", f"#endif\n{new}") == set()


def test_a_changed_declaration_recompiles_what_uses_it(monkeypatch):
    again = compiled_again(monkeypatch, "acl/acl_rt.h", "aclrtCreateNotify(", "aclrtCreateNotify(int32_t device, ")
    assert again == {"mindtorch/_sim/runtime/event.cpp"}
    again = compiled_again(monkeypatch, "acl/acl_base_rt.h", "int aclError;", "long aclError;")
    assert {"mindtorch/_npu/launch.c", "mindtorch/_npu/streams.c", "mindtorch/_sim/runtime/event.cpp"} <= again
    assert not any(source.startswith("mindtorch/_core/") for source in again)
