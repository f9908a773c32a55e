package build_test

import (
	"os"
	"path/filepath"
	"testing"

	"millrace/dtype"
	"millrace/internal/test/cases"
	"millrace/internal/test/tfmain"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.RunMixed(m))
}

// planned plans a case with Millrace's own operations, or without.
func planned(t *testing.T, dir string, native bool) *loaders.Plan {
	t.Helper()
	seed := int64(7)
	o := &loaders.CheckOptions{Seed: &seed}
	if path := cases.Model(dir); path != "" {
		model, problems := spec.ReadModelNames(path)
		if model == nil && *everyCase {
			t.Skip("the model is refused, so there is nothing to read")
		}
		if model == nil {
			t.Fatal(problems)
		}
		o.Model = model
	}
	p, problems := loaders.Check(filepath.Join(dir, "loader.json"), o)
	if p == nil && *everyCase {
		t.Skip("the config is refused, so there is nothing to read")
	}
	if p == nil {
		t.Fatal(problems)
	}
	if !native {
		p.NativeLibrary = ""
	}
	return p
}

// columnOf copies a tensor for the output.
func columnOf(t *testing.T, name string, x *tfbridge.Tensor) output.Column {
	t.Helper()
	c := output.Column{Name: name, DType: x.DataType(), Shape: x.Shape()}
	var err error
	if c.DType == dtype.String {
		c.Strings, err = x.Strings()
	} else {
		c.Data, err = x.Bytes()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dump returns up to n batches of a plan as `millrace dump` prints them, and the final
// error.
func dump(t *testing.T, p *loaders.Plan, n int) (text []byte, err error) {
	t.Helper()
	l, err := loaders.OpenPlan(p, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			return text, err
		}
		var columns []output.Column
		for _, name := range b.Names() {
			columns = append(columns, columnOf(t, name, b.Tensor(name)))
		}
		if text, err = output.AppendBatch(text, columns); err != nil {
			t.Fatal(err)
		}
		if n--; n == 0 {
			break
		}
	}
	return text, nil
}

// makeIndexes writes an index for each data file that can have one.
func makeIndexes(t *testing.T, p *loaders.Plan) {
	t.Helper()
	var paths []string
	for _, f := range p.Files {
		if !f.Remote {
			paths = append(paths, f.Path)
		}
	}
	o := &index.Options{Write: true, AllFaults: true, ReaderOptions: tfrecord.ReaderOptions{Compression: p.Manifest.Compression}}
	found, err := index.Scan(t.Context(), paths, o)
	for i, f := range found {
		if f.Index != nil && f.IndexFile == "" {
			t.Errorf("%s has no index: %v", paths[i], err)
		}
	}
}

// runCase compares the batches of a case, or its error, with the expected ones. The
// files have an index. The program's tests run all cases without one.
func runCase(t *testing.T, name string, native bool) {
	t.Helper()
	dir, c := cases.Prepare(t, name), cases.Read(t, name)
	n := 0
	if c.Properties.Take != nil {
		n = *c.Properties.Take
	}
	p := planned(t, dir, native)
	makeIndexes(t, p)
	text, err := dump(t, p, n)
	message, code := "", 0
	if err != nil {
		message, code = err.Error(), 1
	}
	if err := cases.Compare(c, text, []byte(message), code); err != nil {
		t.Errorf("native %v: %s\n%v", native, c.About, err)
	}
}
