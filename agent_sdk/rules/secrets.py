"""Does a command look as if it held a secret? What is remembered is written to disk, and such files get committed.

A false alarm costs one suggestion; a miss costs a password. So it errs on the side of alarm.
"""

from __future__ import annotations

import re

_NAMES = r"(?:key|token|secret|passw|pwd|credential|auth)"
_NAMED_VALUE = re.compile(rf"[\w-]*{_NAMES}[\w.-]*['\"]?\s*[=:]\s*['\"]?[^\s'\"]", re.IGNORECASE)
_OPTION = re.compile(rf"(?:^|\s)-{{1,2}}[\w-]*{_NAMES}[\w-]*\s+['\"]?[^\s'\"-]", re.IGNORECASE)
_HEADER = re.compile(r"\b(?:authorization|bearer|basic)\b[\s:'\"=]+\S", re.IGNORECASE)
_USER_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#'\"]*@")
_LOGIN = re.compile(r"(?:^|\s)(?:-u|--user|--proxy-user|-U)[\s=]*[^\s:]+:\S")
_KNOWN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        gh[oprsu]_ | github_pat_ | glpat- | gldt- | sk-[A-Za-z0-9] | [rs]k_(?:live|test)_ | xox[abeoprs]- | xapp-
        | A[KS]IA[0-9A-Z]{8} | AIza | ya29\. | eyJ[A-Za-z0-9_-]{8} | npm_[A-Za-z0-9] | pypi- | hf_[A-Za-z0-9]{8}
        | dop_v1_ | SG\.[A-Za-z0-9_-]{8} | shpat_ | lin_api_ | ntn_ | dapi[0-9a-f]{8} | -----BEGIN
    )""",
    re.VERBOSE,
)
_STRETCH = re.compile(r"[A-Za-z0-9+_-]{20,}={0,2}")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")


def holds_secret(text: str) -> bool:
    """True when `text` holds what may be a secret.

    That is: a value of `Authorization`, `Bearer` or `Basic`; of an option or assignment whose name holds key, token,
    secret, password, credential or auth; a login in a URL or behind `-u`; a known prefix of tokens; a long word that
    mixes letters of both cases with digits, or is hexadecimal.
    """
    patterns = (_NAMED_VALUE, _OPTION, _HEADER, _USER_IN_URL, _LOGIN, _KNOWN)
    return any(pattern.search(text) for pattern in patterns) or any(map(_is_mixed, _STRETCH.findall(text)))


def _is_mixed(word: str) -> bool:
    if _HEX.search(word):
        return True
    inner = word.rstrip("=").rstrip("0123456789")  # a number behind a name is a number
    return any(map(str.isupper, inner)) and any(map(str.islower, inner)) and any(map(str.isdigit, inner))
