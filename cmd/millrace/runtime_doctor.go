package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/oplibrary"
	"millrace/internal/runtimedir"
	"millrace/tfbridge"
)

// state is how a check of the doctor came out.
type state string

const (
	stateOK   state = "ok"
	stateWarn state = "warn" // it works, but not as well as it could
	stateFail state = "fail"
)

// finding is one check of the doctor.
type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// diagnosis is all that the doctor found.
type diagnosis struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`

	p      *program
	asJSON bool
}

func (p *program) runtimeDoctorCommand() *cobra.Command {
	d := &diagnosis{p: p, OK: true}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why TensorFlow does not run here, or not well",
		Long: `Check step by step what TensorFlow needs: the processor, the files and their
hashes, the library of our own operations, open files and memory that the
system allows, and whether the libraries open, a graph runs and which devices
there are. The last ones are tried in a process of their own, so that even
libraries that crash are reported.

Each line is ok, warn or fail, with what to do. The exit code is 7 if one fails.`,
		Example: `  millrace runtime doctor
  millrace runtime doctor --json --runtime /opt/tensorflow`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return d.run(c.Context())
		},
	}
	c.Flags().BoolVar(&d.asJSON, "json", false, "print JSON")
	return c
}

// run makes every check that the ones before it leave a sense to.
func (d *diagnosis) run(ctx context.Context) error {
	d.processor()
	if dir, ok := d.files(); ok {
		if d.hashes(dir) {
			d.opens(ctx, dir)
		}
	}
	d.descriptors()
	d.memory()
	if d.asJSON {
		b, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return err
		}
		if err := d.p.printf("%s\n", b); err != nil {
			return err
		}
	}
	if d.OK {
		return nil
	}
	var failed []string
	for _, f := range d.Findings {
		if f.State == stateFail {
			failed = append(failed, f.Check)
		}
	}
	return millrace.Errorf(millrace.ErrRuntime, "TensorFlow does not run here: see %s", strings.Join(failed, ", "))
}

// add records a finding, and prints it at once: a later check may take long.
func (d *diagnosis) add(check string, s state, remedy, format string, args ...any) {
	f := finding{Check: check, State: s, Detail: oneLine(fmt.Sprintf(format, args...)), Remedy: remedy}
	d.Findings = append(d.Findings, f)
	d.OK = d.OK && s != stateFail
	if d.asJSON {
		return
	}
	d.p.printf("%-4s  %-12s  %s\n", f.State, f.Check, f.Detail)
	if remedy != "" {
		d.p.printf("%-4s  %-12s  %s\n", "", "", "-> "+remedy)
	}
}

// fail records an error.
func (d *diagnosis) fail(check string, err error, remedy string) {
	if strings.Contains(err.Error(), remedy) {
		remedy = "" // it says so itself
	}
	d.add(check, stateFail, remedy, "%v", err)
}

// processor checks the instruction sets.
func (d *diagnosis) processor() {
	if err := runtimedir.CheckCPU(); err != nil {
		d.fail("processor", err, "use a machine with a newer processor, or a TensorFlow compiled for this one: --runtime DIR")
		return
	}
	d.add("processor", stateOK, "", "%s, %d of them, has what TensorFlow is compiled for", runtime.GOARCH, runtime.NumCPU())
}

// files looks for the runtime.
func (d *diagnosis) files() (dir string, ok bool) {
	dir, err := tfbridge.FindRuntime(d.p.runtimeOptions())
	if err != nil {
		d.fail("files", err, runtimedir.Remedy)
		return "", false
	}
	d.add("files", stateOK, "", "%s", millrace.Quote(dir))
	return dir, true
}

// hashes compares the runtime with what was installed.
func (d *diagnosis) hashes(dir string) bool {
	in, err := runtimedir.Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("hashes", stateWarn, "nothing, if you trust it; or "+runtimedir.Remedy, "not installed by millrace: nobody knows what these libraries should be")
		return true
	case err != nil:
		d.fail("hashes", err, runtimedir.Remedy+" --force")
		return false
	}
	if err := in.Verify(true); err != nil {
		d.fail("hashes", err, runtimedir.Remedy+" --force")
		return false
	}
	if !in.Pinned {
		d.add("hashes", stateWarn, "nothing, if you trust it; or "+runtimedir.Remedy+" --force", "the libraries are those that were installed, but not ones that this millrace was tested with")
		return true
	}
	d.add("hashes", stateOK, "", "the libraries of TensorFlow %s (%s) are those that this millrace was tested with", in.Version, in.Variant)
	return true
}

// opens tries the runtime in a process of its own.
func (d *diagnosis) opens(ctx context.Context, dir string) {
	const remedy = runtimedir.Remedy + " --force"
	probe, err := d.probe(ctx, dir)
	if err != nil {
		d.fail("libraries", err, remedy)
		return
	}
	if probe.Error != "" {
		d.fail("libraries", errors.New(probe.Error), remedy)
		return
	}
	d.add("libraries", stateOK, "", "both open and have every function that is used; TensorFlow %s", probe.Version)
	d.operations(dir, probe)
	switch {
	case probe.GraphError != "":
		d.fail("graph", errors.New(probe.GraphError), remedy)
		return
	default:
		d.add("graph", stateOK, "", "a graph of three operations gives what it should")
	}
	gpus := 0
	for _, device := range probe.Devices {
		if device.Type == "GPU" {
			gpus++
		}
	}
	in, err := runtimedir.Read(dir)
	if err == nil && in.Variant == runtimedir.CUDA && gpus == 0 {
		d.add("devices", stateWarn, "install NVIDIA's driver and check it with nvidia-smi; --verbose shows TensorFlow's own words", "the runtime is for GPUs, but finds none")
		return
	}
	var names []string
	for _, device := range probe.Devices {
		names = append(names, strings.TrimPrefix(device.Name, "/job:localhost/replica:0/task:0/device:"))
	}
	d.add("devices", stateOK, "", "%s", strings.Join(names, ", "))
}

// operations checks the library of our own operations.
func (d *diagnosis) operations(dir string, probe *probe) {
	const remedy = "build it: make native in millrace's sources"
	switch {
	case probe.OperationsError != "":
		d.add("operations", stateWarn, remedy, "our own dataset operations do not load, everything works but slower: %s", probe.OperationsError)
	case probe.Operations == "":
		others, _ := filepath.Glob(filepath.Join(dir, oplibrary.Folder, "libmillrace_datasets-*.so"))
		if len(others) > 0 {
			d.add("operations", stateWarn, remedy, "%s is of another version; without ours everything works, but slower", millrace.Quote(others[0]))
			return
		}
		d.add("operations", stateWarn, remedy, "no library of our own dataset operations: everything works, but slower")
	default:
		d.add("operations", stateOK, "", "%s", millrace.Quote(probe.Operations))
	}
}

// probe is what the process that tries the runtime reports.
type probe struct {
	Error           string            `json:"error,omitempty"`
	Version         string            `json:"version"`
	Operations      string            `json:"operations"`
	OperationsError string            `json:"operations_error,omitempty"`
	GraphError      string            `json:"graph_error,omitempty"`
	Devices         []tfbridge.Device `json:"devices"`
}

// probe starts this program again to try the runtime.
func (d *diagnosis) probe(ctx context.Context, dir string) (*probe, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Verbose, else the last words of a library that crashes are lost.
	args := []string{os.Args[0], "runtime", "probe", "--verbose", "--runtime", dir}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Stdout, cmd.Stderr = args, &stdout, &stderr
	if d.p.verbose {
		cmd.Stderr = d.p.stderr
	}
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		const enough = 300
		words := strings.TrimSpace(stderr.String())
		return nil, fmt.Errorf("the process that opened them ended: %w: %s", err, words[:min(len(words), enough)])
	}
	var got probe
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		return nil, fmt.Errorf("the process that opened them wrote %s", millrace.Quote(stdout.String()))
	}
	return &got, nil
}

// runtimeProbeCommand tries the runtime for the doctor.
func (p *program) runtimeProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "probe",
		Short:   "Try the runtime, for runtime doctor",
		Example: "  millrace runtime probe",
		Hidden:  true,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			b, err := json.Marshal(p.tryRuntime())
			if err != nil {
				return err
			}
			return p.printf("%s\n", b)
		},
	}
}

// tryRuntime opens the runtime and runs a graph.
func (p *program) tryRuntime() *probe {
	r, err := tfbridge.Open(p.runtimeOptions())
	if err != nil {
		return &probe{Error: err.Error()}
	}
	got := &probe{Version: r.Version()}
	if got.Operations, err = r.Operations(); err != nil {
		got.OperationsError = err.Error()
	}
	if err := tryGraph(); err != nil {
		got.GraphError = err.Error()
		return got
	}
	if got.Devices, err = devices(); err != nil {
		got.GraphError = err.Error()
	}
	return got
}

// tryGraph adds two numbers.
func tryGraph() error {
	g := tfbridge.NewGraph()
	defer g.Close()
	var in []tfbridge.Input
	for name, v := range map[string]float32{"a": 3, "b": 4} {
		t, err := tfbridge.NewTensor(v)
		if err != nil {
			return err
		}
		defer t.Close()
		op, err := g.AddOperation(tfbridge.OpSpec{Type: "Const", Name: name, Attrs: map[string]any{"dtype": tfbridge.Float, "value": t}})
		if err != nil {
			return err
		}
		in = append(in, op.Output(0))
	}
	sum, err := g.AddOperation(tfbridge.OpSpec{Type: "AddV2", Name: "sum", Input: in})
	if err != nil {
		return err
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := s.Run(nil, []tfbridge.Output{sum.Output(0)}, nil)
	if err != nil {
		return err
	}
	defer out[0].Close()
	if got := out[0].Value(); got != float32(7) {
		return millrace.Errorf(millrace.ErrRuntime, "3 + 4 is %v here", got)
	}
	return nil
}
