package docs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"millrace/estimator/spec"
)

// The run config of keras.md is one for a model that its first Python lines export. The
// recorded model has the same endpoints.
func TestKerasPage(t *testing.T) {
	page, err := os.ReadFile("keras.md")
	if err != nil {
		t.Fatal(err)
	}
	config := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if config == nil {
		t.Fatal("keras.md has no run config")
	}
	dir := t.TempDir()
	files := map[string]string{
		"run.json": string(config[1]),
		"train.json": `{"type": "independent", "args": {"dataset": {"type": "dir", "args": {"data_dir": "data"}}, "target_batch_size": 4,
			"drop_remainder": true, "epochs": 1, "num_read_buffer_bytes": 262144, "num_prefetch": 2,
			"primary_features": [{"from_name": "x", "to_name": "x"}, {"from_name": "y", "to_name": "y"}]}}`,
		"data/__manifest__.json": `{"compression": null, "allow_var_len": false, "features": [
			{"name": "x", "dtype": "float32", "shape": [6, 6, 2], "deserialize_type": "float"},
			{"name": "y", "dtype": "int64", "shape": [], "deserialize_type": "int"}]}`,
		"data/part.tfrecords": "",
	}
	unpackCNN(t, files)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run, problems := spec.Check(filepath.Join(dir, "run.json"), nil)
	if run == nil {
		t.Fatal(problems)
	}
	if o := run.TrainOptions(); o.Signature != "train" || o.Objective == nil || o.Objective.Labels != "y" {
		t.Errorf("options %+v", o)
	}
}

// unpackCNN adds the files of a recorded model of Keras.
func unpackCNN(t *testing.T, files map[string]string) {
	t.Helper()
	packed, err := os.ReadFile("../estimator/testdata/keras.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zip); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(h.Name, "cnn/"); ok {
			text, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
}
