"""Records what Keras's ReduceLROnPlateau does: record_plateau.py > plateau.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras

LOSSES = [5.0, 4.0, 4.0, 4.0, 3.99, 4.0, 4.0, 4.0, 4.0, 2.0, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 1.0]
CASES = {
    "patience": {"patience": 2},
    "cooldown": {"patience": 2, "cooldown": 2, "factor": 0.5},
    "min_delta": {"patience": 3, "min_delta": 0.5, "factor": 0.5, "min_lr": 0.02},
}
out = {"losses": LOSSES, "cases": {}}
for name, settings in CASES.items():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    callback = keras.callbacks.ReduceLROnPlateau(monitor="val_loss", mode="min", **settings)
    callback.set_model(model)
    callback.on_train_begin()
    rates = []
    for epoch, loss in enumerate(LOSSES):
        callback.on_epoch_end(epoch, {"val_loss": loss})
        rates.append(float(model.optimizer.learning_rate.numpy()))
    out["cases"][name] = {**settings, "rates": rates}
json.dump(out, sys.stdout)
print()
