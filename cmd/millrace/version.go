package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/cmd/millrace/internal/runtimes"
)

func versionCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of millrace, Go and the TensorFlow runtime",
		Long: `Print the versions of millrace, of the Go that built it, and of the TensorFlow
runtime if one is installed. The runtime is not opened.`,
		Example: "  millrace version",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return p.Printf("millrace %s\n%s %s/%s\n%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtimes.Version(p))
		},
	}
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
