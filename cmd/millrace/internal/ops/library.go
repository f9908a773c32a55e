package ops

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/terminal"
	"millrace/internal/tool/opgen"
	"millrace/internal/tool/ops"
	"millrace/tfbridge"
)

func (p *program) opsInfoCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "info LIBRARY",
		Short: "Show the operations of a library: inputs, outputs, attributes, kernels",
		Long: `Load a library of operations into TensorFlow, and show what it registers.
Loading runs the library's code: show only libraries that you trust.`,
		Example: `  millrace ops info myreader/myreader.so
  millrace ops info myreader/myreader.so --json`,
		Args: cli.Exactly("LIBRARY"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := tfbridge.Open(p.RuntimeOptions()); err != nil {
				return err
			}
			info, err := ops.Describe(inFolder(args[0]))
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(info)
			}
			return p.printOps(info)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printOps prints the operations that a library registers.
func (p *program) printOps(info *ops.Info) error {
	var b strings.Builder
	built := ""
	if info.TensorFlow != "" {
		built = ", built for TensorFlow " + info.TensorFlow
	}
	fmt.Fprintf(&b, "%s: operations: %d%s\n", millrace.Quote(info.Path), len(info.Operations), built)
	for i := range info.Operations {
		op := &info.Operations[i]
		fmt.Fprintf(&b, "\n%s\n", op.Signature())
		if op.Summary != "" {
			fmt.Fprintf(&b, "    %s\n", strings.Join(strings.Fields(op.Summary), " "))
		}
		for _, a := range op.Attributes {
			line := "    attribute " + a.Name + ": " + a.Type
			if a.Values != "" {
				line += ", " + a.Values
			}
			if a.Default != "" {
				line += "; default " + a.Default
			}
			b.WriteString(line + "\n")
		}
		if op.Stateful {
			b.WriteString("    stateful\n")
		}
		for _, k := range op.Kernels {
			b.WriteString(strings.TrimRight(fmt.Sprintf("    kernel %s %s %s", k.Device, k.Label, strings.Join(k.Constraints, ", ")), " ") + "\n")
		}
		if len(op.Kernels) == 0 {
			b.WriteString("    no kernel: nothing can run it\n")
		}
	}
	return p.Printf("%s", terminal.Text(b.String()))
}

func (p *program) opsWrapCommand() *cobra.Command {
	var o opgen.WrapOptions
	var out string
	c := &cobra.Command{
		Use:   "wrap LIBRARY --package NAME",
		Short: "Write Go functions for the operations of a library",
		Long: `Write a Go file with a function for each operation of a library, and one more
for each operation that makes a dataset. Inputs and attributes are parameters,
attributes with defaults are options, and the comments have what the operations'
definitions say. Loading the library runs its code.`,
		Example: `  millrace ops wrap myreader.so --package myreader --out ops_gen.go`,
		Args:    cli.Exactly("LIBRARY"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Package == "" {
				return cli.Usagef(c, "--package is missing")
			}
			if _, err := tfbridge.Open(p.RuntimeOptions()); err != nil {
				return err
			}
			library, err := tfbridge.LoadLibrary(inFolder(args[0]))
			if err != nil {
				return err
			}
			o.Library = filepath.Base(args[0])
			text, err := opgen.Wrap(library.OpList, &o)
			if err != nil {
				return err
			}
			if out == "" {
				return p.Printf("%s", text)
			}
			return atomicfile.Write(out, text, 0o666)
		},
	}
	c.Flags().StringVar(&o.Package, "package", "", "`NAME` of the Go package of the file")
	c.Flags().StringVarP(&out, "out", "o", "", "write to `FILE` (default standard output)")
	return c
}
