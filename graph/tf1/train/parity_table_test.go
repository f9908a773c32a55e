package train_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace/tfbridge"
)

var update = flag.Bool("update", false, "rewrite the table of testdata/parity")

// parityTable is a Markdown table of the results of Python and Go.
type parityTable struct{ bytes.Buffer }

func newParityTable() *parityTable {
	table := &parityTable{}
	table.WriteString("# tf.compat.v1.train in Python and in Go\n\n" +
		"`TestParity` writes this table. Elements and order are compared with what record.py wrote.\n\n" +
		"| pipeline | elements in Python | in Go | compared | end in Python | in Go | join in Python | in Go |\n|---|---|---|---|---|---|---|---|\n")
	return table
}

// add adds a line.
func (p *parityTable) add(c parityCase, python, got recorded) {
	compared := "elements"
	switch {
	case c.inOrder:
		compared = "elements, order"
	case c.partial && c.name[0] == 'e':
		compared = "codes"
	case c.partial:
		compared = "batch sizes"
	}
	count := func(r recorded) string {
		if compared == "codes" {
			return "any"
		}
		return fmt.Sprintf("%d in %d", len(r.rows()), len(r.Batches))
	}
	fmt.Fprintf(p, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, count(python), count(got), compared,
		codeName(python.End), codeName(got.End), codeName(python.Join), codeName(got.Join))
}

// codeName returns the name of a code in TensorFlow's protocol.
func codeName(c tfbridge.Code) string {
	return strings.ToUpper(strings.ReplaceAll(c.Error(), " ", "_"))
}

// check compares the table with the committed one. Lines are compared sorted.
func (p *parityTable) check(t *testing.T) {
	t.Helper()
	const path = "testdata/parity/table.md"
	lines := strings.SplitAfter(p.String(), "\n")
	const head = 6
	slices.Sort(lines[head : len(lines)-1])
	got := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it\n got %s\nwant %s", path, got, want)
	}
}
