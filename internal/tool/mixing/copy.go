package mixing

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"millrace"
	"millrace/loaders"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// numberFeature is the only feature of a record of the copy.
const numberFeature = "number"

// copyBatch is the number of records of the copy that are read at once. The order does
// not depend on it.
const copyBatch = 4096

// object is a JSON object.
type object = map[string]any

// writeCopy writes a dataset with the same number of records in each file as the plan's
// dataset. It returns the path of a loader config that reads it in the same order.
func writeCopy(ctx context.Context, dir string, plan *loaders.Plan, scan *loaders.Scan) (config string, err error) {
	data := filepath.Join(dir, "copy")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", copyError(err)
	}
	starts := fileStarts(plan, scan)
	for i := range plan.Files {
		path := filepath.Join(data, fmt.Sprintf("%09d.tfrecords", i))
		if err := writeNumbers(ctx, path, starts[i], starts[i+1]); err != nil {
			return "", err
		}
	}
	manifest := object{"compression": nil, "allow_var_len": false, "features": []object{
		{"name": numberFeature, "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}}
	if err := writeJSON(filepath.Join(data, "__manifest__.json"), manifest); err != nil {
		return "", err
	}
	config = filepath.Join(dir, "loader.json")
	return config, writeJSON(config, copyConfig(data, plan))
}

// copyConfig returns the config for the copy, with all settings of the plan that affect
// the order.
func copyConfig(data string, plan *loaders.Plan) object {
	return object{"type": "independent", "args": object{
		"dataset":           object{"type": "dir", "args": object{"data_dir": data}},
		"primary_features":  []object{{"from_name": numberFeature, "to_name": numberFeature}},
		"target_batch_size": copyBatch, "drop_remainder": false, "epochs": 1,
		"num_read_buffer_bytes": 1 << 16, "num_prefetch": 1,

		"seed": plan.Seed, "shuffle": true,
		"num_shuffle_buffer_elements":        plan.Shuffle.Elements,
		"num_filenames_shuffle_buffer":       plan.Shuffle.Filenames,
		"num_mix_files":                      plan.Shuffle.MixFiles,
		"num_parallel_reads":                 plan.ParallelReads,
		"sloppy_interleave":                  plan.Sloppy,
		"num_interleave_in_buffer_elements":  plan.InterleaveIn,
		"num_interleave_out_buffer_elements": plan.InterleaveOut,
	}}
}

// writeNumbers writes a file whose records are the numbers from first to end - 1.
func writeNumbers(ctx context.Context, path string, first, end int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return copyError(err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = copyError(closed)
		}
	}()
	w := tfrecord.NewWriter(f, tfrecord.None)
	var record []byte
	feature := example.Feature{Kind: example.Int64, Ints: make([]int64, 1)}
	for number := first; number < end; number++ {
		if number%contextEvery == 0 && ctx.Err() != nil {
			return millrace.Canceled(ctx, "measuring")
		}
		feature.Ints[0] = number
		record = example.AppendExample(record[:0], []example.Named{{Name: numberFeature, Feature: feature}})
		if err := w.Write(record); err != nil {
			return copyError(err)
		}
	}
	return copyError(w.Close())
}

func writeJSON(path string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return copyError(os.WriteFile(path, b, 0o600))
}

// copyError describes a failure to write or remove the copy. It names the folder for
// temporary files, where the user has to make room.
func copyError(err error) error {
	if err == nil {
		return nil
	}
	e := millrace.Errorf(millrace.ErrIO, "copy the order of the dataset: %w; set TMPDIR to a folder with 40 bytes for each record", err)
	e.File = os.TempDir()
	return e
}
