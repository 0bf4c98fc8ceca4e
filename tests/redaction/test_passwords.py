"""Passwords of all sorts in the places where people write them.

The lines of `passwords.txt` begin with the kind, have `\\n` for a new line, and « » where the password stands.
"""

from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.redaction.redactor import build_redactor

PLACES: Final = Path(__file__).with_name("passwords.txt").read_text("utf-8").splitlines()
PASSWORDS: Final = ("falconriver", "Heron-58%quarry", "maple4821", "Sommer2024", "Tr0ub4dor&3", "kx9$mQ2v")
"""Words, words with numbers and signs, and random characters."""
REDACTOR = build_redactor()


@pytest.mark.parametrize("line", PLACES)
def test_whatever_password_stands_in_a_place_is_found_there(line: str) -> None:
    kind, _, place = line.replace("\\n", "\n").partition(": ")
    before, after = place.split("«»")
    for password in PASSWORDS:
        assert REDACTOR.redact(before + password + after).text == f"{before}[redacted: {kind}]{after}"


OF_ONE_TIME_PASSWORDS: Final = (
    "otpauth://totp/Acme:bob?secret=«JBSWY3DPEHPKTPXP»&issuer=Acme",
    "otpauth://hotp/bob?issuer=x&counter=1&secret=«NBSWY3DPFQQHO33SNRSCC===»",
    '"otpauth://totp/bob?secret=«mzxw6ytboi2w65dj»"',
    "otpauth-migration://offline?data=«CjEKCkhlbGxvId6tvu8SGFRlc3Q6dGVzdEBleGFtcGxl%3D»",
    "oathtool --totp -b «JBSWY3DPEHPKTPXP»",
    "oathtool -b --totp=sha256 '«NBSWY3DPFQQHO33SNRSCC===»'",
    "TOTP_SECRET=«JBSWYQDPEHPKTPXP»",
    "OTPAUTH://TOTP/Acme?SECRET=«JBSWY3DPEHPKTPXP»",
    "otpauth://totp/Acme:bob?issuer=Acme&amp;secret=«JBSWY3DPEHPKTPXP»&amp;digits=6",
    'pyotp.TOTP("«JBSWY3DPEHPKTPXP»").now()',
    "speakeasy.totp({secret: '«JBSWY3DPEHPKTPXP»', encoding: 'base32'})",
    "the TOTP secret is «JBSW YQDP EHPK TPXP».",
)


@pytest.mark.parametrize("written", OF_ONE_TIME_PASSWORDS)
def test_the_secret_of_one_time_passwords_is_found(written: str) -> None:
    before, rest = written.split("«")
    _, after = rest.split("»")
    assert REDACTOR.redact(written.replace("«", "").replace("»", "")).text == f"{before}[redacted: otp secret]{after}"
