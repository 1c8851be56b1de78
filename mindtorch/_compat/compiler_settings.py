"""What modules of settings have in torch: `patch`."""
import contextlib

__all__ = ["patcher"]


def patcher(settings):
    """The function `patch` of a module whose names are `settings`."""
    @contextlib.contextmanager
    def patch(*args, **changes):
        """Within the context, or the decorated function, these settings: keywords, a dict, or a name and a value."""
        if args:
            changes = {**changes, **(args[0] if len(args) == 1 else {args[0]: args[1]})}
        before = {name: settings[name] for name in changes}
        settings.update(changes)
        try:
            yield
        finally:
            settings.update(before)
    return patch
