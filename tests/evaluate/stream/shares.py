"""Shares both passes over some Parquet files between two processes and prints the result; run by a test."""

import multiprocessing
import pickle
import sys

from pyarrow import parquet

from rankstone.evaluate.stream import Stream


def work(task):
    stream, name, paths = task
    for path in paths:
        for batch in parquet.ParquetFile(path).iter_batches(50):
            getattr(stream, name)(batch)
    return stream


def main(truth, metrics, paths):
    stream = Stream(truth, metrics)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for name in ("first_pass", "second_pass"):
            tasks = [(stream, name, paths[::2]), (stream, name, paths[1::2])]
            for part in pool.imap_unordered(work, tasks):
                stream.merge(part)
    return stream.compute()


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        result = main(*pickle.load(file))
    with open(sys.argv[2], "wb") as file:
        pickle.dump({name: result.per_query[name] for name in result}, file)
