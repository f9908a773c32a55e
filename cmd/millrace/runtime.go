package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/doctor"
	"millrace/internal/install"
	"millrace/internal/runtimedir"
	"millrace/internal/terminal"
	"millrace/internal/tfproto"
	"millrace/tfbridge"
)

func (p *program) runtimeCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "runtime",
		Short: "Install TensorFlow's library, or show what is installed",
		Example: `  millrace runtime install
  millrace runtime info
  millrace runtime doctor`,
	})
	c.AddCommand(p.runtimeInstallCommand(), p.runtimeInfoCommand(), p.runtimeDoctorCommand(), p.runtimeProbeCommand())
	return c
}

func (p *program) runtimeInstallCommand() *cobra.Command {
	var o install.Options
	var cuda bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Install TensorFlow's library",
		Long: `Install TensorFlow's library from TensorFlow's own wheel. pip downloads the
wheel; millrace checks it against a pinned hash and unpacks the libraries and
headers into your cache folder. A runtime that is already installed and intact
is kept. An install that is killed leaves no incomplete runtime behind.

install needs pip, or --from, and about 1.5 GB of disk space while it unpacks.`,
		Example: `  millrace runtime install
  millrace runtime install --cuda
  millrace runtime install --from tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl
  millrace runtime install --from /opt/libtensorflow --unpinned`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if cuda {
				o.Variant = runtimedir.CUDA
			}
			o.Progress = p.stderr
			_, err := install.Install(c.Context(), &o)
			return err
		},
	}
	f := c.Flags()
	f.BoolVar(&cuda, "cuda", false, "install the variant for NVIDIA GPUs")
	f.StringVar(&o.From, "from", "", "install from a local wheel, tarball or folder: `FILE|DIR`")
	f.StringVar(&o.Dir, "dir", "", "install under `DIR` (default your cache folder)")
	f.BoolVar(&o.Force, "force", false, "install again even if an intact runtime is installed")
	f.BoolVar(&o.Unpinned, "unpinned", false, "with --from: accept libraries whose hashes are not pinned")
	return c
}

// runtimeInfo is what runtime info prints.
type runtimeInfo struct {
	Path      string               `json:"path"`
	Version   string               `json:"version"`
	Variant   string               `json:"variant,omitempty"` // this field and those down to Libraries describe an installed runtime
	Source    string               `json:"source,omitempty"`
	Pinned    bool                 `json:"pinned"`
	Libraries []runtimedir.Library `json:"libraries,omitempty"`
	Verified  bool                 `json:"verified"` // the libraries were hashed again and match
	Devices   []tfbridge.Device    `json:"devices"`
	Ops       int                  `json:"ops"`
	OpLibs    []string             `json:"op_libraries"` // libraries of additional operations
}

func (p *program) runtimeInfoCommand() *cobra.Command {
	var asJSON, verify bool
	c := &cobra.Command{
		Use:   "info",
		Short: "Show the runtime in use: its folder, version, libraries and devices",
		Example: `  millrace runtime info
  millrace runtime info --verify
  millrace runtime info --json --runtime /opt/tensorflow`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			info, err := p.runtimeInfo(verify)
			if err != nil {
				return err
			}
			if asJSON {
				b, err := json.MarshalIndent(info, "", "  ")
				if err != nil {
					return err
				}
				return p.printf("%s\n", b)
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
	r, err := tfbridge.Open(p.runtimeOptions())
	if err != nil {
		return nil, err
	}
	info := &runtimeInfo{Path: r.Dir(), Version: r.Version(), Verified: verify, OpLibs: []string{}}
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
	}
	if info.Devices, err = doctor.Devices(); err != nil {
		return nil, err
	}
	info.Ops, err = countOps()
	return info, err
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
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
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
	for _, d := range info.Devices {
		line("device", "%s %s", strings.TrimPrefix(d.Name, "/job:localhost/replica:0/task:0/"), d.Type)
	}
	line("operations", "%d", info.Ops)
	if len(info.OpLibs) == 0 {
		line("op libraries", "none")
	}
	for _, l := range info.OpLibs {
		line("op library", "%s", millrace.Quote(l))
	}
	return stdoutError(w.Flush())
}

// runtimeVersion returns a line about the runtime that a command would open. It
// reads files and opens no library.
func (p *program) runtimeVersion() string {
	dir := p.runtimeDir
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
