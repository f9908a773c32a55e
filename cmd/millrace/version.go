package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/cmd/millrace/internal/runtimes"
	"millrace/internal/tool/sbom"
)

func versionCommand(p *cli.Program) *cobra.Command {
	bill := false
	c := &cobra.Command{
		Use:   "version [--sbom]",
		Short: "Print the versions of millrace, Go and the TensorFlow runtime",
		Long: `Print the versions of millrace, of the Go that built it, and of the TensorFlow
runtime if one is installed. The runtime is not opened.

--sbom prints a software bill of materials instead, in the form of CycloneDX
1.6: the Go modules in the program, and the runtime with the hashes of its wheel
and its libraries.`,
		Example: "  millrace version\n  millrace version --sbom >millrace.cdx.json",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			if bill {
				return printBill(p)
			}
			return p.Printf("millrace %s\n%s %s/%s\n%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtimes.Version(p))
		},
	}
	c.Flags().BoolVar(&bill, "sbom", false, "print a software bill of materials, as JSON of CycloneDX")
	return c
}

// printBill prints what the program and the runtime are made of.
func printBill(p *cli.Program) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return millrace.Errorf(millrace.ErrInternal, "the program was built without the versions of its modules")
	}
	return sbom.Write(p.Stdout, info, buildVersion(), runtimes.Installed(p))
}

// revision is the commit that was built. The linker sets it where Go finds no
// repository, as in the build of an image.
var revision string

// buildVersion is the module's version, or the commit that was built.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version, revision, modified := info.Main.Version, revision[:min(len(revision), 12)], ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	if revision != "" && version == "devel" {
		version += " " + revision + modified
	}
	return version
}
