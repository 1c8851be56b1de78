"""Builds Cython modules for tests, on the spot."""
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCLUDE = [str(ROOT / "include"), str(ROOT / "mindtorch" / "_npu" / "_gen")]


def build(sources, folder, flags=("-O1",)):
    """Compiles {name of the module: its .pyx} into `folder`; returns {name: library}."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    extensions = [Extension(name, [str(source)], include_dirs=INCLUDE) for name, source in sources.items()]
    modules = cythonize(extensions, build_dir=f"{folder}/c", include_path=[str(ROOT)], quiet=True, language_level=3,
                        force=True)
    for module in modules:              # here, since Cython adds up what it has once been told of a source
        module.extra_compile_args, module.extra_link_args = ["-g0", "-w", *flags], list(flags)
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    return {name: Path(command.get_ext_fullpath(name)) for name in sources}
