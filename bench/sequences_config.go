package main

// makeConfigs writes the loader configs: of one pass, whose values are
// compared, and of as many as are measured.
func (f sequenceFiles) makeConfigs() error {
	configs := map[string]object{
		f.paddedConfig(1):         f.paddedLoader(1),
		f.paddedConfig(padEpochs): f.paddedLoader(padEpochs),
	}
	for _, folder := range []string{f.floats, f.raw} {
		for _, size := range []int{shortWindow, longWindow} {
			for _, epochs := range []int{1, chunkEpochs} {
				configs[f.windowConfig(folder, size, epochs)] = windowLoader(folder, size, epochs)
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

// windowLoader cuts windows that follow one another.
func windowLoader(folder string, size, epochs int) object {
	args := loaderArgs(folder, windowBatch, epochs, "x")
	args["min_window"], args["max_window"] = size, size
	args["stride"] = nil
	return object{"type": "continuous_sequence", "args": args}
}

// paddedLoader pads whole records to the longest of their batch.
func (f sequenceFiles) paddedLoader(epochs int) object {
	args := loaderArgs(f.padded, padBatch, epochs, "tokens", "frames")
	args["padding"] = true
	return object{"type": "independent", "args": args}
}
