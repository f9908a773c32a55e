package opgen

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

var update = flag.Bool("update", false, "write the package")

const folder = "../../../graph/op"

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

// public returns the runtime's operations.
func public(t *testing.T) []*tfproto.OpDef {
	t.Helper()
	list, err := tfbridge.OpList()
	if err != nil {
		t.Fatal(err)
	}
	ops, err := Public(list)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// tables returns the tables of the repository.
func tables(t *testing.T) *Tables {
	t.Helper()
	names, err := os.ReadFile("names.txt")
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := os.ReadFile("summaries.txt")
	if err != nil {
		t.Fatal(err)
	}
	tables := &Tables{}
	if tables.Names, err = ParseNames(string(names)); err != nil {
		t.Fatal(err)
	}
	if tables.Summaries, err = ParseSummaries(string(summaries)); err != nil {
		t.Fatal(err)
	}
	return tables
}

// The committed package is what the runtime's operations give.
func TestPackage(t *testing.T) {
	want, err := Generate(public(t), tables(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		write(t, want)
	}
	have, err := filepath.Glob(folder + "/*_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range have {
		if _, ok := want[filepath.Base(path)]; !ok {
			t.Errorf("%s is no longer generated; -update removes it", path)
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != string(text) {
			t.Errorf("graph/op/%s is not of this runtime and these tables; -update writes it", name)
		}
		if n := strings.Count(string(text), "\n"); n > 3000 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

// write writes the package, and removes what is no longer generated.
func write(t *testing.T, files map[string][]byte) {
	t.Helper()
	old, err := filepath.Glob(folder + "/*_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
