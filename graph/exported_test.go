package graph_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

var exportedDir = flag.String("exported", "", "a folder of models with values.json, which TestExported loads as well")

// Models as users of TensorFlow, Keras and JAX export them load without any
// operation allowed by name, and give what Python gave. testdata/foreign says how
// they were made.
func TestExported(t *testing.T) {
	startPools(t)
	dir := t.TempDir()
	var paths []string
	for _, archive := range []string{"models.tar.gz", "more.tar.gz", "keras.tar.gz"} {
		for _, name := range unpackModels(t, dir, filepath.Join("../testdata/foreign", archive), "*/values.json") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) < 90 {
		t.Errorf("%d models", len(paths))
	}
	if *exportedDir != "" {
		more, err := filepath.Glob(filepath.Join(*exportedDir, "*", "values.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range more {
			paths = append(paths, filepath.Dir(values))
		}
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			text, err := os.ReadFile(filepath.Join(path, "values.json"))
			if err != nil {
				t.Fatal(err)
			}
			var calls []recordedCall
			if err := json.Unmarshal(text, &calls); err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				c.tolerance = 1e-3 // Python sums whole images in another order
				c.check(t, path)
			}
		})
	}
}
