package gradients_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"millrace/graph/gradients"
)

var update = flag.Bool("update", false, "write docs/gradients.md")

const page = "../../docs/gradients.md"

// docs/gradients.md lists all rules.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`# Derivatives

Which operations a signature may consist of to be trained, if it was not exported for training: those between the variables and the
loss. ` + "`go test ./graph/gradients -run TestPage -update`" + ` writes this page from the rules of [graph/gradients](../graph/gradients).

An operation that is in neither list makes training fail before anything runs, with an error that names it. Loops of TensorFlow 1,
which consist of Enter, Merge, Switch, NextIteration and Exit, have no derivative.

## Operations with a derivative

`)
	list(&b, gradients.Rules())
	b.WriteString(`
## Operations that are constant

No derivative flows through these: their outputs do not change, or change in steps, as their inputs do. So it is with all outputs
that are not floating point.

`)
	list(&b, gradients.Constant())
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the rules give; run the test with -update", page)
	}
}

// list writes a table of names, five in a row.
func list(b *bytes.Buffer, names []string) {
	b.WriteString("| | | | | |\n|---|---|---|---|---|\n")
	for i := 0; i < len(names); i += 5 {
		for k := range 5 {
			cell := ""
			if i+k < len(names) {
				cell = "`" + names[i+k] + "` "
			}
			fmt.Fprintf(b, "| %s", cell)
		}
		b.WriteString("|\n")
	}
}
