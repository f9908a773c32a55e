package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"millrace/diag"
	"millrace/dtype"
	"millrace/internal/tool/output"
)

// TextFlag holds the names of --text: tensors of strings that are printed as text
// and not in base64.
type TextFlag struct {
	command *cobra.Command
	names   []string
}

// Add declares the flag.
func (f *TextFlag) Add(c *cobra.Command) {
	f.command = c
	c.Flags().StringArrayVar(&f.names, "text", nil, "print the strings of tensor `NAME` as text; they must be UTF-8; may be repeated")
}

// Names returns the names that were given.
func (f *TextFlag) Names() []string { return f.names }

// Check refuses a name that none of the tensors has, and one of a tensor that does
// not hold strings.
func (f *TextFlag) Check(tensors []dtype.TensorSpec) error {
	var known []string
	for _, t := range tensors {
		known = append(known, t.Name)
	}
	for _, name := range f.names {
		i := slices.Index(known, name)
		if i < 0 {
			if near := diag.DidYouMean(name, known); near != "" {
				return Usagef(f.command, "--text %q: there is no such tensor; %s", name, near)
			}
			return Usagef(f.command, "--text %q: there is no such tensor among %q", name, known)
		}
		if d := tensors[i].DType; d != dtype.String {
			return Usagef(f.command, "--text %q: the tensor is of type %v and holds no strings", name, d)
		}
	}
	return nil
}

// Mark marks the columns that are text.
func (f *TextFlag) Mark(cols []output.Column) {
	for i := range cols {
		cols[i].Text = slices.Contains(f.names, cols[i].Name)
	}
}
