"""Tab: a shell gets the completions, and no server starts."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("learning-memory-server")
BASH = shutil.which("bash")
VARIABLE = "_LEARNING_MEMORY_SERVER_COMPLETE"


def asked(environment: dict[str, str], **variables: str) -> str:
    done = subprocess.run(
        [PROGRAM], input="", env={**os.environ, **environment, **variables}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "variables"),
    [
        ("bash", {"COMP_WORDS": "learning-memory-server st", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "learning-memory-server st"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "learning-memory-server st", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
@pytest.mark.slow
def test_a_shell_gets_the_commands_that_match(
    shell: str, variables: dict[str, str], environment: dict[str, str], storage: Path
) -> None:
    assert "status" in asked(environment, **{VARIABLE: f"complete_{shell}"}, **variables)
    script = asked(environment, **{VARIABLE: f"source_{shell}"})
    assert f"{VARIABLE}=complete_{shell}" in script
    # Neither a front nor a hub has run.
    assert not list(storage.iterdir())


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.slow
def test_tab_completes_in_a_real_bash(environment: dict[str, str], tmp_path: Path) -> None:
    ours, its = pty.openpty()
    shell = subprocess.Popen(
        [str(BASH), "--norc", "--noprofile", "-i"],
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        env={
            **os.environ,
            **environment,
            "HOME": str(tmp_path),
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "PS1": "$ ",
            "TERM": "dumb",
        },
    )
    os.close(its)

    def type_and_wait(keys: str, *expected: str) -> None:
        os.write(ours, keys.encode())
        shown = ""
        while not all(part in shown for part in expected):
            shown += os.read(ours, 4096).decode()

    try:
        type_and_wait(f'eval "$({VARIABLE}=source_bash learning-memory-server)"; echo rea""dy\n', "ready")
        type_and_wait("learning-memory-server unins\t", "uninstall ")
        type_and_wait("\x15learning-memory-server clusters sur\t", "surprise ")
        type_and_wait("\x15learning-memory-server list --dom\t", "--domain ")
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
