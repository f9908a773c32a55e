package runtimes

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/runtimedir"
	"millrace/internal/base/terminal"
	"millrace/tfbridge"
)

func (p *program) runtimeCommand() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "runtime",
		Short: "Install TensorFlow's library, or show what is installed",
		Example: `  millrace runtime install
  millrace runtime info
  millrace runtime doctor`,
	})
	c.AddCommand(p.runtimeInstallCommand(), p.runtimeNativeCommand(), p.runtimeExportCommand(),
		p.runtimeInfoCommand(), p.runtimeDoctorCommand(), p.runtimeProbeCommand())
	return c
}

// Installed returns the runtime that a command would open, as its folder describes it; nil if there is
// none, or it has no description.
func Installed(p *cli.Program) *runtimedir.Installed {
	dir := cmp.Or(p.RuntimeDir, os.Getenv(tfbridge.RuntimeEnv))
	if dir != "" {
		in, err := runtimedir.Read(dir)
		if err != nil {
			return nil
		}
		return in
	}
	root, err := runtimedir.Root()
	if err != nil {
		return nil
	}
	found, err := runtimedir.Find(root)
	if err != nil || len(found) == 0 {
		return nil
	}
	return found[0]
}

// Version returns a line about the runtime that a command would open. It
// reads files and opens no library.
func Version(p *cli.Program) string {
	dir := p.RuntimeDir
	if dir == "" {
		dir = os.Getenv(tfbridge.RuntimeEnv)
	}
	if dir != "" {
		installed, err := runtimedir.Read(dir)
		if err != nil {
			return "TensorFlow of unknown version in " + millrace.Quote(dir)
		}
		return installed.String()
	}
	root, err := runtimedir.Root()
	if err != nil {
		return terminal.Line(err.Error())
	}
	found, err := runtimedir.Find(root)
	if err != nil {
		return terminal.Line(err.Error())
	}
	if _, err := os.Stat(filepath.Join(root, runtimedir.Name(runtimedir.CPU))); len(found) == 0 && err == nil {
		return "TensorFlow of unknown version in " + millrace.Quote(root)
	}
	if len(found) == 0 {
		return "no TensorFlow runtime: type " + runtimedir.Remedy
	}
	return found[0].String()
}
