"""Writes read.json: the scalars that TensorBoard's own reader finds in the event file of this folder.

Needs TensorBoard. Run in this folder, after "go test ./estimator/events -run TensorBoard -update".
"""

import json

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(".", size_guidance={"scalars": 0})
events.Reload()
scalars = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in sorted(events.Tags()["scalars"])}
with open("read.json", "w") as f:
    json.dump(scalars, f, indent=1)
    f.write("\n")
