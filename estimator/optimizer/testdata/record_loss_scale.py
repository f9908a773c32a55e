"""Records what Keras's LossScaleOptimizer does: record_loss_scale.py > loss_scale.json. It needs tensorflow 2.21 and keras 3."""
import json
import sys

import keras
import numpy as np

GRADIENTS = [[1.0, -2.0], [0.5, 0.25], [float("inf"), 1.0], [0.5, 3.0], [-1.0, 1.0], [2.0, 0.5]]
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1, momentum=0.5), initial_scale=8, dynamic_growth_steps=2)
variable = keras.Variable(np.array([1.0, 2.0], "float32"), name="w")
optimizer.build([variable])
steps = []
for gradient in GRADIENTS:
    scale = float(optimizer.dynamic_scale.numpy())
    optimizer.apply([keras.ops.convert_to_tensor(np.array(gradient, "float32") * scale)], [variable])
    steps.append({
        "gradient": ["inf" if np.isinf(g) else str(g) for g in gradient], "scale": float(optimizer.dynamic_scale.numpy()),
        "counter": int(optimizer.step_counter.numpy()), "iterations": int(optimizer.iterations.numpy()),
        "variable": [float(x) for x in variable.numpy()],
    })
json.dump(steps, sys.stdout, indent=1)
print()
