package main

// makeConfigs writes the loader configs: one with a single epoch, to compare
// values, and one with the epochs to measure.
func (f sequenceFiles) makeConfigs() error {
	configs := map[string]object{
		f.paddedConfig(1):         f.paddedLoader(1),
		f.paddedConfig(padEpochs): f.paddedLoader(padEpochs),
	}
	for _, folder := range []string{f.floats, f.raw} {
		for _, kind := range windowKinds {
			for _, epochs := range []int{1, chunkEpochs} {
				configs[f.windowConfig(folder, kind.size, epochs)] = windowLoader(folder, kind.size, epochs)
			}
		}
	}
	for path, config := range configs {
		if err := writeJSON(path, config); err != nil {
			return err
		}
	}
	return nil
}

// windowLoader returns the config of a loader that cuts consecutive windows.
func windowLoader(folder string, size, epochs int) object {
	args := loaderArgs(folder, windowBatch, epochs, "x")
	args["min_window"], args["max_window"] = size, size
	args["stride"] = nil
	return object{"type": "continuous_sequence", "args": args}
}

// paddedLoader returns the config of a loader that pads records to the longest
// in their batch.
func (f sequenceFiles) paddedLoader(epochs int) object {
	args := loaderArgs(f.padded, padBatch, epochs, "tokens", "frames")
	args["padding"] = true
	return object{"type": "independent", "args": args}
}
