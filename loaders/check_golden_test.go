package loaders_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"millrace"
	"millrace/diag"
	"millrace/loaders"
	"millrace/loaders/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// unpack writes an archive to a folder, and replaces ${DIR} by the folder's path.
func unpack(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range a.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data := strings.ReplaceAll(string(f.Data), "${DIR}", dir)
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// options reads lines like "root: DIR" of an archive's comment.
func options(t *testing.T, comment, dir string) *loaders.CheckOptions {
	t.Helper()
	seed := int64(1)
	o := &loaders.CheckOptions{Seed: &seed}
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "root":
			o.Root = filepath.Join(dir, value)
		case "memory":
			limit, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			o.MemoryLimit = limit
		case "model":
			names, problems := spec.ReadModelNames(filepath.Join(dir, value))
			if names == nil {
				t.Fatal(problems)
			}
			o.Model = names
		}
	}
	return o
}

// describe returns the plan or the problems as text, without the path of the temporary
// folder, whose length would change the columns of a plan.
func describe(plan *loaders.Plan, problems diag.List, dir string) string {
	relative := func(s string) string {
		s = strings.ReplaceAll(s, dir+string(filepath.Separator), "")
		return strings.ReplaceAll(s, dir, "${DIR}")
	}
	if plan == nil {
		var b strings.Builder
		for _, d := range problems {
			fmt.Fprintf(&b, "%s\n", relative(d.Error()))
			if d.Class != millrace.ErrConfig {
				fmt.Fprintf(&b, "\t(class %v)\n", d.Class)
			}
		}
		return b.String()
	}
	plan.Path, plan.ManifestPath, plan.ListPath = relative(plan.Path), relative(plan.ManifestPath), relative(plan.ListPath)
	for i := range plan.Files {
		plan.Files[i].Path = relative(plan.Files[i].Path)
	}
	text := relative(plan.Explain())
	// The optimiser's choices have tests of their own.
	stages, rest, _ := strings.Cut(text, "\nrewrites\n")
	_, warnings, found := strings.Cut(rest, "\n\n")
	if !found {
		return stages
	}
	return stages + "\n" + warnings
}

// TestCheckGolden checks the configs in testdata/check. Each archive holds a
// config with its dataset, and under "want" the problems and the plan.
func TestCheckGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := unpack(t, a)
			plan, problems := loaders.Check(filepath.Join(dir, "loader.json"), options(t, string(a.Comment), dir))
			got := describe(plan, problems, dir)
			want := &a.Files[len(a.Files)-1]
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}
