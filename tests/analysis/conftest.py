from people import answer, folder, is_refused, people, run, runner, train

__all__ = ["answer", "folder", "is_refused", "people", "run", "runner", "train"]
