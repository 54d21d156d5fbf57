"""Files that wait to be synced together, because one sync for several of them costs less than one for each."""

from __future__ import annotations

import threading


class PendingSyncs:
    """Files that wait to be synced. Whoever asks waits until all that were there before are safe."""

    def __init__(self) -> None:
        self._paths: dict[str, bool] = {}  # and whether their names wait, too
        self._turn = threading.Lock()

    def sync_later(self, path: str, *, name: bool = True) -> None:
        self._paths[path] = name or self._paths.get(path, False)

    def is_pending(self, path: str) -> bool:
        return path in self._paths

    def sync_pending(self) -> None:
        with self._turn:
            paths, self._paths = self._paths, {}
            try:
                if paths:
                    self._sync_all(paths)
            except BaseException:
                self._paths = paths | self._paths  # they wait on
                raise

    def _sync_all(self, paths: dict[str, bool]) -> None:
        for path in paths:
            self.sync(path)
        for folder in dict.fromkeys(path.rpartition("/")[0] for path, name in paths.items() if name):
            self.sync_dir(folder)

    def sync(self, path: str) -> None:
        raise NotImplementedError

    def sync_dir(self, path: str) -> None:
        raise NotImplementedError
