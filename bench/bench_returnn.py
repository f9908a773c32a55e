"""RETURNN's own pipeline on sequences like those that `make bench` gives to Millrace.

The dataset holds its sequences in memory. RETURNN cuts them into chunks, chooses the batches and copies the frames of each into
padded arrays, as its FeedDictDataProvider does. One JSON object goes to stdout: frames of all chunks a second, in the fastest of
several epochs.

    bench_returnn.py LENGTHS.json --size 50 --step 25 --frames 5000 --features 40 --epochs 3
"""

import argparse
import json
import time

import numpy
from returnn.datasets.generating import StaticDataset


def epoch(dataset, number, frames):
    """Makes all batches of an epoch, and returns the frames of their chunks and the number of batches."""
    dataset.init_seq_order(epoch=number)
    batches = dataset.generate_batches(recurrent_net=True, batch_size=frames)
    copied = made = 0
    while batches.has_more():
        (batch,) = batches.peek_next_n(1)
        dataset.load_seqs(batch.start_seq, batch.end_seq)
        rows, longest = batch.num_slices, int(batch.max_num_frames_per_slice["data"])
        out = numpy.zeros((rows, longest, dataset.num_inputs), dtype="float32")
        for part in batch.seqs:
            begin, n = int(part.seq_start_frame["data"]), int(part.frame_length["data"])
            offset = int(part.batch_frame_offset["data"])
            out[part.batch_slice, offset : offset + n] = dataset.get_data_slice(part.seq_idx, "data", begin, begin + n)
            copied += n
        made += 1
        batches.advance(1)
    return copied, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lengths")
    for name in ("size", "step", "frames", "features", "epochs"):
        parser.add_argument("--" + name, type=int, required=True)
    flags = parser.parse_args()
    with open(flags.lengths) as f:
        lengths = json.load(f)
    random = numpy.random.default_rng(1)
    data = [{"data": random.random((n, flags.features), dtype="float32")} for n in lengths]
    dataset = StaticDataset(data=data, input_dim=flags.features, output_dim={"data": (flags.features, 2)},
                            chunking=f"{flags.size}:{flags.step}")
    best, frames, batches = 0.0, 0, 0
    for number in range(1, flags.epochs + 1):
        begin = time.perf_counter()
        frames, batches = epoch(dataset, number, flags.frames)
        best = max(best, frames / (time.perf_counter() - begin))
    print(json.dumps({"frames_per_s": best, "frames": frames, "batches": batches}))


if __name__ == "__main__":
    main()
