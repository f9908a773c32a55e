package runtimes

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/internal/base/terminal"
	"millrace/internal/base/tfproto"
	"millrace/internal/tool/doctor"
	"millrace/internal/tool/install"
	"millrace/tfbridge"
)

// runtimeInfo is the output of runtime info.
type runtimeInfo struct {
	Path      string               `json:"path"`
	Version   string               `json:"version"`
	Variant   string               `json:"variant,omitempty"` // this field and those down to Libraries describe an installed runtime
	Source    string               `json:"source,omitempty"`
	Pinned    bool                 `json:"pinned"`
	Libraries []runtimedir.Library `json:"libraries,omitempty"`
	Verified  bool                 `json:"verified"`  // the libraries were hashed again and match
	Prelinked bool                 `json:"prelinked"` // the libraries are open as prelinked copies
	Devices   []tfbridge.Device    `json:"devices"`
	Ops       int                  `json:"ops"`
	OpLibs    []string             `json:"op_libraries"`              // libraries of additional operations
	NoOpLibs  string               `json:"no_op_libraries,omitempty"` // why there are none
}

func (p *program) runtimeInfoCommand() *cobra.Command {
	var asJSON, verify bool
	c := &cobra.Command{
		Use:   "info",
		Short: "Show the runtime in use: its folder, version, libraries and devices",
		Example: `  millrace runtime info
  millrace runtime info --verify
  millrace runtime info --json --runtime /opt/tensorflow`,
		Args: cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			info, err := p.runtimeInfo(verify)
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(info)
			}
			return p.printRuntime(info)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&verify, "verify", false, "hash the libraries again, which takes one or two seconds")
	return c
}

// runtimeInfo opens the runtime and describes it.
func (p *program) runtimeInfo(verify bool) (*runtimeInfo, error) {
	r, err := tfbridge.Open(p.RuntimeOptions())
	if err != nil {
		return nil, err
	}
	info := &runtimeInfo{Path: r.Dir(), Version: r.Version(), Verified: verify, Prelinked: r.Prelinked(), OpLibs: []string{}}
	installed, err := runtimedir.Read(r.Dir())
	switch {
	case errors.Is(err, fs.ErrNotExist): // not installed by millrace
		info.Verified = false
	case err != nil:
		return nil, err
	default:
		if err := installed.Verify(verify); err != nil {
			return nil, err
		}
		info.Variant, info.Source, info.Pinned, info.Libraries = installed.Variant, installed.Source, installed.Pinned, installed.Libraries
	}
	operations, err := r.Operations()
	if err != nil {
		return nil, err
	}
	if operations != "" {
		info.OpLibs = append(info.OpLibs, operations)
	} else {
		info.NoOpLibs = withoutOperations(r.Dir())
	}
	if info.Devices, err = doctor.Devices(); err != nil {
		return nil, err
	}
	info.Ops, err = countOps()
	return info, err
}

// withoutOperations says why a runtime has no library of our own operations.
func withoutOperations(dir string) string {
	if err := install.CanBuildOperations(dir, operationsOptions()); err != nil {
		return "they cannot be built here: " + err.Error()
	}
	return "not built yet; type " + oplibrary.Remedy
}

// countOps returns how many operation types TensorFlow knows.
func countOps() (int, error) {
	b, err := tfbridge.OpList()
	if err != nil {
		return 0, err
	}
	var list tfproto.OpList
	if err := proto.Unmarshal(b, &list); err != nil {
		return 0, millrace.Errorf(millrace.ErrInternal, "read the list of operations: %w", err)
	}
	return len(list.GetOp()), nil
}

func (p *program) printRuntime(info *runtimeInfo) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	line := func(key, format string, args ...any) { fmt.Fprintf(w, key+"\t"+format+"\n", args...) }
	version := info.Version
	if info.Variant != "" {
		version += " (" + info.Variant + ")"
	}
	line("TensorFlow", "%s", version)
	line("path", "%s", millrace.Quote(info.Path))
	if info.Source == "" {
		line("source", "not installed by millrace: hashes unknown")
	} else {
		line("source", "%s", millrace.Quote(info.Source))
	}
	for _, l := range info.Libraries {
		state := "recorded at install"
		if info.Verified {
			state = "verified"
		}
		line(l.Name, "sha256 %s... (%s)", l.SHA256[:min(len(l.SHA256), 16)], state)
	}
	line("prelinked", "%s", map[bool]string{true: "yes: the libraries are open as copies that open faster", false: "no"}[info.Prelinked])
	for _, d := range info.Devices {
		line("device", "%s %s", strings.TrimPrefix(d.Name, "/job:localhost/replica:0/task:0/"), d.Type)
	}
	line("operations", "%d", info.Ops)
	if len(info.OpLibs) == 0 {
		line("op libraries", "none: %s", terminal.Line(info.NoOpLibs))
	}
	for _, l := range info.OpLibs {
		line("op library", "%s", millrace.Quote(l))
	}
	return cli.StdoutError(w.Flush())
}
