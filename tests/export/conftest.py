from tests.tiny_models import *  # noqa: F403  # all of its fixtures
