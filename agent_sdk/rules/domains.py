"""Domain patterns: the host of a URL, read as RFC 3986 has it and as browsers do.

An allow rule needs both to agree on a plain host; a deny or ask rule takes either. Names are never resolved.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote

from agent_sdk.rules.globs import fits, pieces
from agent_sdk.rules.rule import Rule

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_PORT = re.compile(r":([0-9]*)$")
_IPV4_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_PLAIN_HOST = re.compile(r"[a-z0-9._\-]+|\[[0-9a-f:.]+\]")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_LONGEST_HOST = 1000
_USUAL = 2048

_Pattern: TypeAlias = tuple[bool, tuple[tuple[str, ...], ...]]
"""Whether sub-domains are meant, and the pieces of each label."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of a URL. `plain` is the one that an allow rule may cover, `None` when readers could disagree."""

    plain: str | None
    every: frozenset[str]


def hosts(url: str) -> Hosts:
    """Read `url` in every way. Never raises."""
    return _kept_hosts(url) if len(url) <= _USUAL else _hosts(url)


@lru_cache(maxsize=1024)
def _kept_hosts(url: str) -> Hosts:
    return _hosts(url)


def _hosts(url: str) -> Hosts:
    strict = _strict_authority(url)
    loose = _loose_authority(url)
    found: set[str] = set()
    for authority in (strict, loose):
        if authority is not None:
            found |= _readings(authority)
    plain = None
    if (
        strict is not None
        and strict == loose
        and url == url.strip()
        and url.lower().startswith(("http://", "https://"))
    ):
        host = _shortest(_without_port(strict).lower().removesuffix("."))
        if _PLAIN_HOST.fullmatch(host) and found == {host}:
            plain = host
    return Hosts(plain, frozenset([*found, *filter(None, map(_mapped, found))]))


class DomainRules:
    """`WebFetch(domain:...)` rules of one behaviour, found by the hosts of a URL."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._all: Rule | None = None
        self._exact: dict[str, Rule] = {}
        self._below: dict[str, Rule] = {}
        self._globs: list[tuple[_Pattern, Rule]] = []
        for rule in rules:
            specifier = rule.specifier or ""
            if specifier.startswith("domain:"):
                self._add(specifier.removeprefix("domain:").strip(), rule)

    def _add(self, pattern: str, rule: Rule) -> None:
        if pattern == "*" or (pattern == "*." and rule.behavior != "allow"):
            self._all = self._all or rule
            return
        for compiled in _compiled(pattern, wide=rule.behavior != "allow"):
            below, labels = compiled
            if any(len(label) > 1 for label in labels):
                self._globs.append((compiled, rule))
            else:
                host = ".".join(label[0] for label in labels)
                (self._below if below else self._exact).setdefault(host, rule)

    def plain(self, url: str) -> Rule | None:
        """The rule that covers the URL when all readers agree on a plain host: allow."""
        host = hosts(url).plain
        return None if host is None else self._all or self._find(host)

    def either(self, url: str) -> Rule | None:
        """The rule that covers the URL in any reading: deny and ask."""
        if self._all is not None:
            return self._all
        found = (self._find(host) for host in sorted(hosts(url).every))
        return next((rule for rule in found if rule is not None), None)

    def _find(self, host: str) -> Rule | None:
        if host in self._exact:
            return self._exact[host]
        rest = host
        while rest := rest.partition(".")[2]:
            if rest in self._below:
                return self._below[rest]
        return next((rule for pattern, rule in self._globs if _covers(pattern, host)), None)


def _compiled(pattern: str, *, wide: bool) -> tuple[_Pattern, ...]:
    """What a pattern may mean: one thing in allow; in deny and ask, all that readers make of letters and addresses."""
    host = _lowered(_DOTS.sub(".", pattern.strip())).removesuffix(".")
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    if host.startswith("["):
        forms = [host := _shortest(host), *([_mapped(host)] if wide else [])]
        return tuple((False, ((form,),)) for form in forms if form is not None)
    if wide and (address := _ipv4(host)) is not None:
        host = address
    below = host.startswith("*.")
    labels = host.removeprefix("*.").split(".")
    found = [_pieces_of(labels, _punycode)]
    if wide:
        found.append(_pieces_of(labels, _ascii))
    return tuple((below, one) for one in dict.fromkeys(found))


def _pieces_of(labels: Sequence[str], to_ascii: Callable[[str], str]) -> tuple[tuple[str, ...], ...]:
    return tuple(pieces(label if "*" in label else to_ascii(label).replace("\\", "\\\\")) for label in labels)


def _covers(pattern: _Pattern, host: str) -> bool:
    below, labels = pattern
    if host.startswith("["):
        return not below and len(labels) == 1 and fits(labels[0], host)
    names = host.split(".")
    if below:
        if len(names) <= len(labels):
            return False
        names = names[-len(labels) :]
    return len(names) == len(labels) and all(fits(label, name) for label, name in zip(labels, names, strict=True))


def _strict_authority(url: str) -> str | None:
    """The authority as RFC 3986 has it."""
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url
    if rest.startswith("//"):
        rest = rest[2:]
    elif scheme and scheme[1].lower() in ("http", "https", "file", "javascript"):
        return None
    else:
        rest = url
    return re.split(r"[/?#]", rest, maxsplit=1)[0]


def _loose_authority(url: str) -> str | None:
    """The authority as browsers read it: tabs go, a backslash is a slash, and it does not matter how many there are."""
    cleaned = re.sub(r"[\t\r\n]", "", url).strip("".join(map(chr, range(33))))
    scheme = _SCHEME.match(cleaned)
    rest = cleaned
    if scheme and (scheme[1].lower() in ("http", "https", "ws", "wss", "ftp", "file") or "//" in cleaned):
        rest = cleaned[scheme.end() :]
    return re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]


def _without_port(authority: str) -> str:
    return _PORT.sub("", authority)


def _readings(authority: str) -> set[str]:
    """Every host that an authority may name; userinfo does not hide it."""
    host = _without_port(authority.rpartition("@")[2])
    found = set()
    for spelled in {host, unquote(host)}:
        for form in _ascii_forms(spelled):
            bare = form.rstrip(".")
            found |= {_shortest(bare), _ipv4(bare) or _shortest(_without_zone(bare))}
    return found


def _ascii_forms(host: str) -> set[str]:
    if host.isascii():
        return {host.lower()}
    labels = _DOTS.sub(".", host).split(".")
    if len(host) > _LONGEST_HOST:
        return {unicodedata.normalize("NFKC", host).lower()}
    return {
        _DOTS.sub(".", unicodedata.normalize("NFKC", host)).casefold(),
        ".".join(_ascii(label) for label in labels),
        ".".join(_punycode(label) for label in labels),
    }


def _ascii(label: str) -> str:
    """The ASCII form of a label by the older standard; unchanged when it has none."""
    try:
        return label.lower() if label.isascii() else label.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return label.lower()


def _lowered(text: str) -> str:
    """Letter by letter: what a sigma becomes must not depend on where it stands."""
    return "".join(map(str.lower, text))


def _punycode(label: str) -> str:
    """The ASCII form of a label today: letters that the older standard maps, as ß, are kept."""
    label = _lowered(unicodedata.normalize("NFKC", label))
    try:
        return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
    except UnicodeError:
        return label


def _shortest(host: str) -> str:
    """An IPv6 address in its shortest form; anything else unchanged."""
    if not (host.startswith("[") and host.endswith("]")):
        return host
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
    except ValueError:
        return host


def _mapped(host: str) -> str | None:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    try:
        address = ipaddress.IPv6Address(host[1:-1]).ipv4_mapped if host.startswith("[") else None
    except ValueError:
        return None
    return None if address is None else str(address)


def _without_zone(host: str) -> str:
    """An IPv6 address without the network card behind it; anything else unchanged."""
    return f"{host.partition('%')[0]}]" if host.startswith("[") and "%" in host and host.endswith("]") else host


def _ipv4(host: str) -> str | None:
    """An IPv4 address written in any way that browsers take: hex, octal, fewer than four numbers."""
    fields = host.split(".")
    if len(fields) > 4 or not all(_IPV4_NUMBER.fullmatch(field) and len(field) < 40 for field in fields):
        return None
    numbers = []
    for field in fields:
        base = 16 if field[:2].lower() == "0x" else 8 if field.startswith("0") and len(field) > 1 else 10
        try:
            numbers.append(int(field[2:] or "0", 16) if base == 16 else int(field, base))
        except ValueError:
            return None
    *first, last = numbers
    if any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):
        return None
    whole = last + sum(number << (8 * (3 - place)) for place, number in enumerate(first))
    return str(ipaddress.IPv4Address(whole))
