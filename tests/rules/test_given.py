"""What a person names with --call and --file can match, or is refused with what to do."""

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.rules.forms.given import call_form, glob_of
from learning_memory_server.rules.patterns.globs import matches as is_of
from learning_memory_server.rules.patterns.matching import matches
from learning_memory_server.shell.script import read


@pytest.mark.parametrize(
    ("text", "words", "call"),
    [
        ("git push", "git push", "cd x && git push origin"),
        ("git -C app push", "git push", "git push"),
        ("git -c a=b push --force", "git push --force", "git push -f"),
        ("npm --prefix web run build", "npm run build", "npm run build"),
        ("git commit -am x", "git commit -m=x -a", "git commit -a -m x"),
        ("rm -rf", "rm -rf", "rm -fr x"),
        ("python -m pytest", "python -m pytest", "python -m pytest x"),
        ("./scripts/deploy.sh", "./scripts/deploy.sh", "bash -c 'scripts/deploy.sh x'"),
        ("git add .", "git add .", "git add ."),
        ("git add *", "git add *", "git add *"),
        ("npm help", "npm help", "npm help"),
        ("git push --dry-run", "git push --dry-run", "git push --dry-run"),
        ("kubectl -n prod delete", "kubectl delete -n=prod", "kubectl delete pod x -n prod"),
        ("echo 'a && b'", "echo a && b", "echo 'a && b'"),
    ],
)
def test_a_command_that_is_named_is_found(text: str, words: str, call: str) -> None:
    form = call_form(text)
    assert " ".join(form.words) == words
    assert any(matches(form, each) for each in read(call).commands)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "program"),
        ("--force", "program"),
        ("git push && make", "one command"),
        ("git push; make", "one command"),
        ("git log | cat", "one command"),
        ("git push &", "one command"),
        ("git push\nmake", "one command"),
        ("npm*", "wildcard"),
        ("npm run test:*", "wildcard"),
        ("FOO=1 make", "variable"),
        ("$X push", "variable"),
        ("git push $(x)", "one command"),
        ("echo hi > x", "> or <"),
        ("echo hi >> x", "> or <"),
        ("git 'push", "quote"),
        ("if", "like"),
    ],
)
def test_a_command_that_never_matches_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        call_form(text)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "glob", "file"),
    [
        ("dist/", "dist/", "web/dist/a.js"),
        ("./src/gen/**", "src/gen/**", "src/gen/a/b.py"),
        ("/p/src/x.py", "src/x.py", "src/x.py"),
        ("/p/dist/", "dist/", "dist/a"),
        ("*.lock", "*.lock", "a/b.lock"),
        ("src\\x.py", "src/x.py", "src/x.py"),
        ("a/../b", "b", "b"),
    ],
)
def test_a_glob_that_is_named_means_files_of_the_project(text: str, glob: str, file: str) -> None:
    assert glob_of(text, "/p") == glob
    assert is_of(glob, file)


@pytest.mark.parametrize(
    "text",
    ["", " ", "/etc/passwd", "~/.ssh/*", "../x", "a/../../x", ".", "/p", "src/{a,b}.py", "$HOME/x", "/", "/pp/x"],
)
def test_a_glob_of_nothing_in_the_project_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        glob_of(text, "/p")
    assert refused.value.hint
