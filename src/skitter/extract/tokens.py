"""The tags of a page as the HTML tokenizer sees them, in one linear scan."""

import re

__all__ = ["ONE_ATTRIBUTE", "TAG"]

_SPACE = rb"[\t\n\f\r ]"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)|\Z)"""
_NAME = rb"(?:=[^\t\n\f\r />=]*+|[^\t\n\f\r />=]++)"
_ATTRIBUTE = rb"%s(?:%s*+=%s*+%s)?+" % (_NAME, _SPACE, _SPACE, _VALUE)
_ATTRIBUTES = rb"(?:[\t\n\f\r /]++|%s)*+" % _ATTRIBUTE
# Every branch that has begun ends, at the end of the page if nowhere else: no branch is tried
# twice from the same place, which keeps the scan linear.
#: Comment, tag or bogus comment. Groups: slash, name, attributes, end.
TAG = re.compile(
    rb"<(?:!--(?:-?>|(?s:.*?)(?:--!?>|\Z))"
    rb"|(/?)([a-zA-Z][^\t\n\f\r />]*+)(%s)(>|\Z)"
    rb"|[!?/][^>]*+>?)" % _ATTRIBUTES
)
ONE_ATTRIBUTE = re.compile(rb"(%s)(?:%s*+=%s*+%s)?+" % (_NAME, _SPACE, _SPACE, _VALUE))
