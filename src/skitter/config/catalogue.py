"""The settings as a flat list: dotted name -> type, default, description.

One place reads the structs of `settings`; loading, `config show` and the reference use this.
"""

from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, structs

from skitter.config.settings import Settings

__all__ = [
    "DOMAINS",
    "ENV_PREFIX",
    "Section",
    "Setting",
    "sections",
    "settings_by_name",
    "value_of",
]

ENV_PREFIX = "SKITTER_"
#: The table with a table for each domain.
DOMAINS = "domains"


class Setting(Struct, frozen=True, kw_only=True):
    """One setting, as people name it."""

    #: `section.key`
    name: str
    #: The annotation with its bounds, for `msgspec.convert`.
    type: Any
    default: Any
    description: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return ENV_PREFIX + self.name.replace(".", "__").upper()


class Section(Struct, frozen=True, kw_only=True):
    """A table of `skitter.toml`."""

    name: str
    type: type[Struct]
    description: str
    settings: tuple[Setting, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Every section, in the order of `Settings`; `domains` has keys of the user's own."""
    hints = get_type_hints(Settings)
    names = (name for name in Settings.__struct_fields__ if name != DOMAINS)
    return tuple(_section(name, hints[name]) for name in names)


@cache
def settings_by_name() -> dict[str, Setting]:
    """Every setting by its dotted name."""
    return {setting.name: setting for section in sections() for setting in section.settings}


def value_of(settings: Settings, name: str) -> object:
    """The value of a dotted name."""
    section, _, key = name.partition(".")
    value: object = getattr(getattr(settings, section), key)
    return value


def _section(name: str, kind: type[Struct]) -> Section:
    hints = get_type_hints(kind, include_extras=True)
    return Section(
        name=name,
        type=kind,
        description=(kind.__doc__ or "").strip(),
        settings=tuple(
            Setting(
                name=f"{name}.{field.name}",
                type=hints[field.name],
                default=field.default,
                description=_description(hints[field.name]),
            )
            for field in structs.fields(kind)
        ),
    )


def _description(annotation: object) -> str:
    if get_origin(annotation) is not Annotated:
        return ""
    metas = [meta for meta in get_args(annotation)[1:] if isinstance(meta, Meta)]
    return next((meta.description for meta in metas if meta.description), "")
