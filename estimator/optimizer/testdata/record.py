"""Records what Keras's optimizers do: record.py > keras.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np

O = keras.optimizers
schedules = keras.optimizers.schedules
STEPS = 6
CASES = {
    "sgd": lambda: keras.optimizers.SGD(),
    "sgd_decay": lambda: keras.optimizers.SGD(0.1, weight_decay=0.05),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(),
    "adam_amsgrad": lambda: keras.optimizers.Adam(0.1, beta_1=0.8, beta_2=0.9, amsgrad=True),
    "adam_clip": lambda: keras.optimizers.Adam(0.1, global_clipnorm=0.5),
    "adamw": lambda: keras.optimizers.AdamW(0.1),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.1),
    "rmsprop_centered": lambda: keras.optimizers.RMSprop(0.1, centered=True),
    "rmsprop_momentum": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5),
    "rmsprop_both": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    "exponential": lambda: keras.optimizers.SGD(schedules.ExponentialDecay(0.1, 2, 0.5)),
    "staircase": lambda: keras.optimizers.SGD(schedules.ExponentialDecay(0.1, 2, 0.5, staircase=True)),
    "piecewise": lambda: keras.optimizers.SGD(schedules.PiecewiseConstantDecay([1, 3], [0.1, 0.2, 0.4])),
    "cosine": lambda: keras.optimizers.SGD(schedules.CosineDecay(0.1, 4, alpha=0.1)),
    "lion": lambda: O.Lion(0.1),
    "nadam": lambda: O.Nadam(0.1),
    "adamax": lambda: O.Adamax(0.1),
    "adadelta": lambda: O.Adadelta(0.5, epsilon=0.01),
    "ftrl": lambda: O.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02, l2_shrinkage_regularization_strength=0.03, beta=0.1),
    "ftrl_power": lambda: O.Ftrl(0.1, learning_rate_power=-0.7),
    "lamb": lambda: O.Lamb(0.1),
    "adafactor": lambda: O.Adafactor(0.1),
    "clipnorm": lambda: O.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda: O.SGD(0.1, clipvalue=0.4),
    "decay_excluded": lambda: excluded(O.SGD(0.1, weight_decay=0.5), ["bias"]),
    "ema": lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.8),
    "ema_overwrite": lambda: O.Adam(0.1, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=2),
    "accumulate": lambda: O.Adam(0.1, gradient_accumulation_steps=2, global_clipnorm=0.5),
    "accumulate_ema": lambda: O.SGD(0.1, momentum=0.9, gradient_accumulation_steps=3, use_ema=True, weight_decay=0.1),
    "polynomial": lambda: O.SGD(schedules.PolynomialDecay(0.1, 4, 0.01, power=2)),
    "polynomial_cycle": lambda: O.SGD(schedules.PolynomialDecay(0.1, 2, 0.01, cycle=True)),
    "inverse_time": lambda: O.SGD(schedules.InverseTimeDecay(0.1, 2, 0.5)),
    "restarts": lambda: O.SGD(schedules.CosineDecayRestarts(0.1, 2, t_mul=1.5, m_mul=0.9, alpha=0.1)),
    "restarts_equal": lambda: O.SGD(schedules.CosineDecayRestarts(0.1, 2, t_mul=1.0, m_mul=0.5)),
    "warmup_cosine": lambda: keras.optimizers.SGD(schedules.CosineDecay(0.01, 3, warmup_target=0.1, warmup_steps=2)),
}


def excluded(optimizer, names):
    optimizer.exclude_from_weight_decay(var_names=names)
    return optimizer


def main():
    random = np.random.default_rng(7)
    shapes = {"dense/kernel": (2, 3), "bias": (3,)}
    initial = {n: random.normal(size=s).astype("float32") for n, s in shapes.items()}
    gradients = [{n: random.normal(size=s).astype("float32") for n, s in shapes.items()} for _ in range(STEPS)]
    flat = lambda values: {n: [float(x) for x in np.ravel(v)] for n, v in values.items()}
    out = {"initial": flat(initial), "gradients": [flat(g) for g in gradients], "cases": {}}
    for name, make in CASES.items():
        optimizer = make()
        with keras.name_scope("dense"):
            kernel = keras.Variable(initial["dense/kernel"], name="kernel")
        variables = {"dense/kernel": kernel, "bias": keras.Variable(initial["bias"], name="bias")}
        steps = []
        for g in gradients:
            rate = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
            optimizer.apply([keras.ops.convert_to_tensor(g[n]) for n in variables], list(variables.values()))
            steps.append({"rate": rate, "variables": flat({n: v.numpy() for n, v in variables.items()})})
        slots = [v for v in optimizer.variables if not v.path.endswith(("/iteration", "/learning_rate", "/variable"))]
        paths = [v.path for v in slots]
        if name == "adafactor":  # the means of the kernel have its name twice; those of the bias are placeholders
            paths[:2] = ["adafactor/dense_kernel_r", "adafactor/dense_kernel_c"]
            del slots[3:5], paths[3:5]
        out["cases"][name] = {
            "steps": steps,
            "slots": [{"name": p, "values": [float(x) for x in np.ravel(v.numpy())]} for p, v in zip(paths, slots)],
        }
    json.dump(out, sys.stdout, separators=(",", ":"))
    print()


main()
