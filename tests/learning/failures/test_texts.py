from pathlib import Path

import pytest

from learning_memory_server.learning.failures.sanitize import tidied


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat /home/ada/notes.txt", "cat ~/notes.txt"),
        ("cat '/Users/ada/my notes'", "cat '~/my notes'"),
        ("ls /root", "ls ~"),
        ("type C:\\Users\\ada\\notes.txt", "type ~\\notes.txt"),
        ("ls /home", "ls /home"),
        ("ls /srv/home/ada/x", "ls /srv/home/ada/x"),
        ("cd /home/ada/src/shop && make", "cd . && make"),
        ("cd ~/src/shop/", "cd ./"),
        ("pytest /srv/build/shop/tests/a.py::b", "pytest tests/a.py::b"),
        ("pytest '/home/ada/Shop/tests/a.py'", "pytest 'tests/a.py'"),
        ("PYTHONPATH=/srv/shop:/srv/lib make", "PYTHONPATH=.:/srv/lib make"),
        ("cat /srv/shopping/a.py", "cat /srv/shopping/a.py"),
        ("git clone https://github.com/ada/shop.git", "git clone https://github.com/ada/shop.git"),
        ("make -C sub/shop", "make -C sub/shop"),
    ],
)
def test_folders_of_this_machine_are_left_out(text: str, expected: str) -> None:
    assert tidied(text, "github.com/ada/shop") == expected


def test_the_folder_of_the_project_may_have_another_name() -> None:
    given = "cd /srv/work/shop-2 && cat /srv/work/shop-2/a.py /srv/work/shop-20/a.py /usr/lib/shop/b.py"
    expected = "cd . && cat a.py /srv/work/shop-20/a.py /usr/lib/shop/b.py"
    assert tidied(given, "shop", "/srv/work/shop-2/") == expected


def test_the_folder_of_the_project_is_recognized_behind_a_tilde() -> None:
    folder = str(Path.home() / "src" / "shop-2")
    assert tidied(f"cat ~/src/shop-2/a.py {folder}/b.py ~/c.py", "shop", folder) == "cat a.py b.py ~/c.py"


def test_a_long_chain_of_folders_is_read_in_time() -> None:
    assert tidied("cat " + "/a" * 2_000, "shop") == "cat " + "/a" * 2_000
    assert tidied("/" * 5_000, "shop") == "/" * 5_000


def test_the_home_of_this_user_is_left_out_wherever_it_is() -> None:
    assert tidied(f"cat {Path.home()}/x", "shop") == "cat ~/x"


def test_a_path_of_thousands_of_folders_is_read_in_time() -> None:
    assert tidied("/@" * 20_000, "shop") == "/@" * 20_000
    assert tidied(f"cat {'/deep' * 20}/shop/a.py", "shop") == "cat a.py"
