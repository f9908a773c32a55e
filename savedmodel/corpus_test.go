package savedmodel_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/test/cases"
	"millrace/savedmodel"
)

var update = flag.Bool("update", false, "rewrite what the corpus is said to be")

// ownModels are our own models that are also in the golden file.
var ownModels = []string{
	"classifier", "constant", "countdown", "counter", "frozen_paths", "graph_v1", "keras_export", "linear", "loop", "outputs", "python_function",
	"recursive", "sharded", "stablehlo", "strings", "two_signatures", "vocab", "vocab_v1", "windows", "writes_file", "writes_file_at_load",
}

// described returns the description of a model, line by line.
func described(dir string) string {
	var b strings.Builder
	all, err := savedmodel.Read(dir, nil)
	if err != nil {
		return "\t" + strings.ReplaceAll(err.Error(), dir, "DIR") + "\n"
	}
	checkpoint, has := all.Checkpoint()
	fmt.Fprintf(&b, "\tTensorFlow %q, tags %q of %q, fingerprinted %v, checkpoint %q %v, objects %v\n", all.TensorFlow, all.Tags, all.TagSets,
		all.Fingerprinted, strings.TrimPrefix(checkpoint, dir+string(filepath.Separator)), has, all.Objects())
	for _, name := range slices.Sorted(maps.Keys(all.Signatures)) {
		s := all.Signatures[name]
		fmt.Fprintf(&b, "\tsignature %s %q\n", name, s.Method)
		for i, list := range [][]savedmodel.Tensor{s.Inputs, s.Outputs} {
			for _, x := range list {
				fmt.Fprintf(&b, "\t\t%s %s %v at %s", []string{"in", "out"}[i], x.Name, x.TensorSpec, x.Node)
				if x.Encoding != "" || x.Err != nil {
					fmt.Fprintf(&b, ", %s of %q %q %v", x.Encoding, x.Whole, x.Component, x.Err)
				}
				b.WriteString("\n")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all.Unusable)) {
		fmt.Fprintf(&b, "\tunusable %s: %v\n", name, strings.ReplaceAll(all.Unusable[name].Error(), dir, "DIR"))
	}
	for _, v := range all.Variables {
		fmt.Fprintf(&b, "\tvariable %s %v of %d bytes\n", v.Name, v.TensorSpec, v.Bytes)
	}
	objects := all.VariableObjects()
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(&b, "\tobject %s %+v\n", name, objects[name])
	}
	for _, w := range slices.Concat(all.Warnings, all.Refused) {
		fmt.Fprintf(&b, "\twarning %s\n", strings.ReplaceAll(w.Error(), dir, "DIR"))
	}
	p := all.Program()
	fmt.Fprintf(&b, "\tinit %q, restore %q of %q, assets %v\n", p.InitOp, p.RestoreOp, p.Filename, p.Assets)
	counts, functions := all.Operations()
	fmt.Fprintf(&b, "\t%d functions, operations %v\n", functions, counts)
	return b.String()
}

// The descriptions of models of many releases of TensorFlow: signatures with the parts
// of composite inputs, variables, assets, operations and warnings.
func TestCorpusIsRead(t *testing.T) {
	f, err := os.Open("../testdata/savedmodels/models.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files, err := cases.Unpack(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*/*/values.json")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d models, %v", len(names), err)
	}
	var got strings.Builder
	for _, name := range names {
		name := path.Dir(name)
		fmt.Fprintf(&got, "%s\n%s", name, described(filepath.Join(dir, filepath.FromSlash(name))))
	}
	for _, name := range ownModels {
		fmt.Fprintf(&got, "%s\n%s", name, described(filepath.Join("../testdata/models", name)))
	}
	const golden = "testdata/corpus.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
