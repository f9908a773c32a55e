"""Writes the wheel of package millrace, with the program and the library of operations in it.

    python3 python/build_wheel.py --program bin/millrace --library PATH --out build/dist

It needs Python's standard library alone. The same inputs give the same bytes. The wheel is for
the TensorFlow that the library is compiled for, whose version is in the library's name.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import zipfile

VERSION = "0.1.0"
HERE = pathlib.Path(__file__).parent
EPOCH = (1980, 1, 1, 0, 0, 0)

METADATA = """Metadata-Version: 2.1
Name: millrace
Version: {version}
Summary: Input pipelines of Millrace as tf.data datasets
Requires-Python: >=3.10
Provides-Extra: cpu
Requires-Dist: tensorflow-cpu =={tensorflow} ; extra == 'cpu'
Provides-Extra: gpu
Requires-Dist: tensorflow =={tensorflow} ; extra == 'gpu'
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: millrace
Root-Is-Purelib: false
Tag: {tag}
"""


def tensorflow_of(library: pathlib.Path) -> str:
    """Returns the version of TensorFlow that a library of operations is for."""
    match = re.fullmatch(r"libmillrace_datasets-([0-9.]+)-[0-9a-f]+\.so", library.name)
    if match is None:
        raise SystemExit(f"{library}: this is not a library of Millrace's operations")
    return match[1]


def hash_of(data: bytes) -> str:
    """Returns a hash as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def contents(program: pathlib.Path, library: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    """Returns the files of the package: content and permissions by path."""
    files = {}
    for path in sorted((HERE / "millrace").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            files[f"millrace/{path.name}"] = (path.read_bytes(), 0o644)
    files["millrace/_bin/millrace"] = (program.read_bytes(), 0o755)
    for path in (library, pathlib.Path(f"{library}.sha256")):
        files[f"millrace/_bin/{path.name}"] = (path.read_bytes(), 0o644)
    return files


def write(program: pathlib.Path, library: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """Writes the wheel to a folder, and returns its path."""
    tensorflow = tensorflow_of(library)
    version = f"{VERSION}+tf{tensorflow}"
    tag = f"py3-none-linux_{platform.machine()}"
    files = contents(program, library)
    info = f"millrace-{version}.dist-info"
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    metadata = METADATA.format(version=version, tensorflow=tensorflow, readme=readme)
    files[f"{info}/METADATA"] = (metadata.encode(), 0o644)
    files[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode(), 0o644)
    record = "".join(f"{name},{hash_of(data)},{len(data)}\n" for name, (data, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"millrace-{version}-{tag}.whl"
    temporary = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    temporary.replace(wheel)
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the program millrace")
    parser.add_argument("--library", type=pathlib.Path, required=True, help="the library of operations")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the folder to write to")
    options = parser.parse_args()
    print(write(options.program, options.library, options.out))


if __name__ == "__main__":
    main()
