package callables

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table")

// folders are the packages whose functions take a scope, and give something usable
// after the scope's failure.
var folders = []string{
	"graph", "graph/tf1/datapipeline", "graph/dataset", "graph/gradients", "graph/image", "graph/lookup", "graph/op", "graph/tf1/queue",
	"graph/tf1/reader", "graph/tf1/train", "graph/variable",
}

const root, table = "../..", "internal/test/failedscope/table_gen.go"

// The table holds the exported functions and types of the packages, all of them and no
// others.
func TestTable(t *testing.T) {
	got, err := Table(os.DirFS(root), "millrace", "failedscope", folders)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(root+"/"+table, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(root + "/" + table)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not of these packages (-want +got); -update writes it:\n%s", table, diff)
	}
}

func TestEntries(t *testing.T) {
	tree := fstest.MapFS{
		"a/b/one.go":    {Data: []byte("package b\n\nfunc Z() {}\n\nfunc A[K, V any](k K) {}\n\nfunc hidden() {}\n\nfunc (T) Method() {}\n")},
		"a/b/two.go":    {Data: []byte("package b\n\ntype (\n\tT struct{}\n\tList[E any] []E\n\tsmall int\n)\n\nconst C = 1\n")},
		"a/b/b_test.go": {Data: []byte("package b\n\nfunc TestX() {}\n")},
	}
	e, err := exported(tree, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(e.functions, e.types...), " ")
	want := "b.A[int64, int64] b.A[tfbridge.Output, tfbridge.Output] b.Z b.List[int64] b.List[tfbridge.Output] b.T"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
