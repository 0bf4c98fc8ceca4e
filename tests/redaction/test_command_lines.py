import pytest

from learning_memory_server.redaction.redactor import build_redactor

TYPED = "Falcon17river"


@pytest.mark.parametrize(
    "command",
    [
        "7z x -p{} a.7z",
        "unzip -q -P {} a.zip",
        "zip -P '{}' a.zip b",
        "sqlcmd -S db -U sa -P {} -Q 'select 1'",
        "mosquitto_pub -u ci -P {} -t a",
        "twine upload -u ci -p {} dist/*",
        "ssh-keygen -t ed25519 -N {} -f key",
        'ssh-keygen -p -P "{}" -f key',
        "openssl enc -aes-256-cbc -k {} -in a",
        "smbclient -U ci%{} //host/share",
        "xfreerdp /u:ci /p:{} /v:host",
        "vault login {}",
        "doctl auth init -t {}",
        "npm config set //registry.shop.test/:_authToken {}",
        "gh auth login --with-token <<< {}",
        "docker login -u ci --password-stdin <<< '{}'",
        "echo '{}' | sudo -S apt update",
        "echo {} | sudo -k -S apt update",
        "printf '%s' {} | gh auth login --with-token",
        "echo {} | vault login -",
        "echo ci:{} | sudo chpasswd",
    ],
)
def test_the_password_of_a_command_line_is_replaced(command: str) -> None:
    redacted = build_redactor().redact(command.format(TYPED))
    assert redacted.text == command.format("[redacted: command line password]")
    assert build_redactor().redact(redacted.text).text == redacted.text


@pytest.mark.parametrize(
    "command",
    [
        "7z x -o./out a.7z",
        "unzip -P $ZIP_PASSWORD a.zip",
        "ssh-keygen -t ed25519 -N '' -f key",
        "openssl enc -k $KEY -in a",
        "smbclient -U ci //host/share",
        "vault login -method=userpass",
        "vault login token",
        "echo hello | sudo tee /etc/motd",
        "echo $PASSWORD | sudo -S apt update",
        "echo done | cat",
        "zip -r a.zip src",
        "twine upload dist/*",
    ],
)
def test_command_lines_without_a_password_stay(command: str) -> None:
    assert build_redactor().redact(command).text == command
