"""Who we are, as sites and users see it. The version lives here and nowhere else."""

__all__ = ["CONFIG_VARIABLE", "DEBUG_VARIABLE", "HOME_URL", "PRODUCT", "VERSION", "user_agent"]

PRODUCT = "Skitter"

#: Read by the build (`tool.hatch.version`), so that no command pays for package metadata.
VERSION = "0.1.0"

#: Where a webmaster learns what visited; a reserved name until the project has a home.
HOME_URL = "https://skitter.invalid"

#: The variables that are no settings.
CONFIG_VARIABLE = "SKITTER_CONFIG"
DEBUG_VARIABLE = "SKITTER_DEBUG"


def user_agent(contact: str | None) -> str:
    """The product, its version, its home, and whom to write to."""
    about = f"+{HOME_URL}; {contact}" if contact else f"+{HOME_URL}"
    return f"{PRODUCT}/{VERSION} ({about})"
