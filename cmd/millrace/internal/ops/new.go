package ops

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/ops"
)

func (p *program) opsNewCommand() *cobra.Command {
	var o ops.NewOptions
	var kind string
	c := &cobra.Command{
		Use:   "new DIR",
		Short: "Write the template of an operation",
		Long: `Write the template of an operation into a new folder: a Go package and its
tests, which pass, and C++ sources in cc. The template is called like the
folder, or as --name says. --kind says what it is:

  dataset  a file format in C++: a dataset operation
  record   a record format in C++: an operation that decodes batches of records
  go       a file format and its record format, in Go: nothing to compile

In a Go module of yours the folder becomes a package of it. Elsewhere new also
writes a go.mod. It names the copy of millrace's sources that --millrace names,
or else the one that your module or this program uses.`,
		Example: `  millrace ops new myreader
  millrace ops new formats/lines --name LineFile
  millrace ops new sensor --kind go`,
		Args: cli.Exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Kind = ops.Kind(kind)
			files, err := ops.New(c.Context(), args[0], &o)
			if err != nil {
				return err
			}
			for _, name := range files {
				if err := p.Printf("%s\n", millrace.Quote(filepath.Join(args[0], name))); err != nil {
					return err
				}
			}
			p.Note("millrace ops test %s runs its tests", millrace.Quote(args[0]))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", string(ops.DatasetKind), "what to write: "+kinds())
	f.StringVar(&o.Name, "name", "", "the format's `NAME` in Go, such as MyReader (default made of DIR)")
	f.StringVar(&o.Millrace, "millrace", "", "for a new go.mod: `FOLDER` of a copy of millrace's sources")
	return c
}

// kinds lists the kinds of templates.
func kinds() string {
	var names []string
	for _, k := range ops.Kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
