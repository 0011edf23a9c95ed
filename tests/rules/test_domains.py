"""Which hosts a URL names, and which rules cover them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.rules.domains import hosts
from tests.rules.support import book, reading, verdict


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/a", "example.com"),
        ("HTTPS://EXAMPLE.COM./a", "example.com"),
        ("http://example.com:8080", "example.com"),
        ("https://example.com:", "example.com"),
        ("https://example.com?q=@x", "example.com"),
        ("https://[::1]:80/", "[::1]"),
        ("https://[0:0:0:0:0:0:0:1]/", "[::1]"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("https://a_b.example.com/", "a_b.example.com"),
    ],
)
def test_a_plain_host(url: str, host: str) -> None:
    """All readers agree on it, so an allow rule may cover it."""
    assert hosts(url).plain == host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://good.com@evil.com/", "evil.com"),
        ("https://good.com:x@evil.com/", "evil.com"),
        ("https://evil.com\\@good.com/", "evil.com"),
        ("https://good.com\\@evil.com/", "evil.com"),
        ("https:\\\\evil.com/", "evil.com"),
        ("https:evil.com/", "evil.com"),
        ("https:///evil.com/", "evil.com"),
        ("//evil.com/", "evil.com"),
        ("evil.com", "evil.com"),
        ("evil.com:8080/x", "evil.com"),
        (" https://evil.com/ ", "evil.com"),
        ("https://ev\til.com/", "evil.com"),
        ("https://ev\nil.com/", "evil.com"),
        ("https://evil%2ecom/", "evil.com"),
        ("https://%65vil.com/", "evil.com"),
        ("https://ｅvil.com/", "evil.com"),
        ("https://evil。com/", "evil.com"),
        ("https://evil.com../", "evil.com"),
        ("ftp://evil.com/", "evil.com"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("https://münchen.de/", "xn--mnchen-3ya.de"),
        ("https://straße.de/", "strasse.de"),
        ("https://straße.de/", "xn--strae-oqa.de"),
        ("https://good.com%00.evil.com/", "good.com\0.evil.com"),
        ("https://[::1%25lo]/", "[::1]"),
    ],
)
def test_a_host_in_disguise(url: str, host: str) -> None:
    """A deny rule sees it; no allow rule covers it."""
    assert host in hosts(url).every
    assert hosts(url).plain is None


@pytest.mark.parametrize(
    ("pattern", "host", "covered"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com.", "example.com", True),
        ("example.com", "www.example.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evil-example.com", False),
        ("example.*", "example.org", True),
        ("example.*", "example.evil.org", False),
        ("a*c.com", "abc.com", True),
        ("a*c.com", "a.c.com", False),
        ("*.a*.com", "x.ab.com", True),
        ("*.a*.com", "ab.com", False),
        ("*", "anything.test", True),
        ("example?com", "example.com", False),
        ("[ab].com", "a.com", False),
        ("münchen.de", "xn--mnchen-3ya.de", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("com", "example.com", False),
    ],
)
def test_a_pattern(pattern: str, host: str, covered: bool) -> None:
    """Allow and deny read a plain host alike."""
    call = reading("WebFetch", {"url": f"https://{host}/x"})
    rule = f"WebFetch(domain:{pattern})"
    assert verdict(book(allow=[rule]), call) == ("allow" if covered else "none")
    assert verdict(book(deny=[rule]), call) == ("deny" if covered else "none")


def test_a_denied_address_is_denied_in_every_spelling() -> None:
    """IPv6 in any form, with or without brackets in the rule."""
    for rule in ("WebFetch(domain:::1)", "WebFetch(domain:[::1])", "WebFetch(domain:[0:0::1])"):
        assert verdict(book(deny=[rule]), reading("WebFetch", {"url": "http://[0:0:0:0:0:0:0:1]/"})) == "deny"


@given(st.text(alphabet="htps:/\\@.%[]:019afx eé。\t?#", max_size=30), st.sampled_from(["", "https://", "http:"]))
def test_no_url_makes_it_raise_and_a_plain_host_is_one_of_all(url: str, scheme: str) -> None:
    """What allow rules see is what deny rules see."""
    found = hosts(scheme + url)
    assert found.plain is None or found.every == {found.plain}
    assert found.plain is None or found.plain.isascii()


DENIED = [
    ("faß.de", "https://xn--fa-hia.de/"),
    ("faß.de", "https://fass.de/"),
    ("FAẞ.de", "https://faß.de/"),
    ("*.faß.de", "https://a.xn--fa-hia.de/"),
    ("ΣΑΣ.gr", "https://σας.gr/"),
    ("xn--fa-hia.de", "https://faß.de/"),
    ("127.0.0.1", "https://[::ffff:127.0.0.1]/"),
    ("127.0.0.*", "https://[::ffff:7f00:1]/"),
    ("[::ffff:127.0.0.1]", "https://127.0.0.1/"),
    ("2130706433", "https://127.0.0.1/"),
    ("0x7f.1", "https://127.1/"),
    ("[::1]", "https://[0:0::1%25lo]/"),
    ("*.", "https://anything.org/"),
]


@pytest.mark.parametrize(("pattern", "url"), DENIED)
def test_a_denied_host_is_denied_however_it_is_spelled(pattern: str, url: str) -> None:
    """In the rule too: letters by both standards of names, addresses in both versions of the protocol."""
    rules = book(deny=[f"WebFetch(domain:{pattern})"], allow=["WebFetch"])
    assert verdict(rules, reading("WebFetch", {"url": url})) == "deny"


ALLOWED = [
    ("faß.de", "https://xn--fa-hia.de/", "allow"),
    ("faß.de", "https://fass.de/", "none"),
    ("ς.gr", "https://xn--4xa.gr/", "none"),
    ("ΣΑΣ.gr", "https://xn--mxa9ab.gr/", "allow"),
    ("ΣΑΣ.gr", "https://xn--mxa8ab.gr/", "none"),
    ("a\u200db.com", "https://ab.com/", "none"),
    ("münchen.de", "https://xn--mnchen-3ya.de/", "allow"),
    ("2130706433", "https://127.0.0.1/", "none"),
    ("127.0.0.1", "https://[::ffff:127.0.0.1]/", "none"),
    ("[::ffff:127.0.0.1]", "https://[::ffff:7f00:1]/", "allow"),
    ("[::ffff:127.0.0.1]", "https://127.0.0.1/", "none"),
    ("[::1]", "https://[::1%25lo]/", "none"),
    ("*.", "https://anything.org/", "none"),
]


@pytest.mark.parametrize(("pattern", "url", "expected"), ALLOWED)
def test_an_allowed_host_is_the_one_that_its_letters_name_today(pattern: str, url: str, expected: str) -> None:
    """Not one that an older standard made of them: that may belong to somebody else."""
    assert verdict(book(allow=[f"WebFetch(domain:{pattern})"]), reading("WebFetch", {"url": url})) == expected
