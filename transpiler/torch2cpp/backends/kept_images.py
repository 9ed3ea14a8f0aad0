"""Which images stay with the channels last between the regions of one search.

All regions that read such an image must be compiled by backends that know of it; where one is not, the image lies as
in Python again, and the others are compiled anew. A region that only makes it may make it as it likes: those that read
it turn it around.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import final

from torch2cpp.backends.protocol import Backend
from torch2cpp.regions.image_borders import ImageGroup, Images, images_of


def keeps_images(backend: Backend) -> bool:
    """Whether the backend goes by `Context.images`."""
    return getattr(backend, "keeps_images", False)


@final
class KeptImages:
    """The groups that are left, by distinct regions."""

    def __init__(self, groups: Collection[ImageGroup]) -> None:
        self._groups = list(groups)

    def by_region(self) -> Mapping[str, Images]:
        """What of each region lies with the channels last."""
        return images_of(self._groups)

    def give_up(self, regions: Collection[str]) -> set[str]:
        """Gives up all images of these regions; returns the names of all regions that this changes."""
        return self._drop([g for g in self._groups if any(border.region in regions for border in g)])

    def give_up_read(self, regions: Collection[str]) -> set[str]:
        """The same for images that these regions read."""
        return self._drop([g for g in self._groups if any(b.side == "param" and b.region in regions for b in g)])

    def _drop(self, groups: Collection[ImageGroup]) -> set[str]:
        self._groups = [g for g in self._groups if g not in groups]
        return {border.region for g in groups for border in g}
