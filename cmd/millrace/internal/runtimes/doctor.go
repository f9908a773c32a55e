package runtimes

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/doctor"
)

// doctorResult is the output of runtime doctor --json.
type doctorResult struct {
	OK       bool             `json:"ok"`
	Findings []doctor.Finding `json:"findings"`
}

func (p *program) runtimeDoctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why TensorFlow does not run, or runs badly",
		Long: `Check step by step what TensorFlow needs: the processor, the runtime's files and
their hashes, the limits on open files and memory, and millrace's library of
operations. Then open the libraries, run a small graph and list the devices.
This happens in a second process, so that doctor can report libraries that
crash.

Each line starts with ok, warn or fail. A line below it says what to do. The
exit code is 7 if a check fails.`,
		Example: `  millrace runtime doctor
  millrace runtime doctor --json --runtime /opt/tensorflow`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.doctor(c.Context(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) doctor(ctx context.Context, asJSON bool) error {
	result := doctorResult{OK: true}
	var failed []string
	for f := range doctor.Examine(ctx, &doctor.Options{Runtime: p.RuntimeOptions(), Operations: operationsOptions(), Probe: p.probe}) {
		result.Findings = append(result.Findings, f)
		if f.State == doctor.Fail {
			failed = append(failed, f.Check)
		}
		if asJSON {
			continue
		}
		if err := p.printFinding(f); err != nil {
			return err
		}
	}
	result.OK = len(failed) == 0
	if asJSON {
		if err := p.PrintJSON(result); err != nil {
			return err
		}
	}
	if result.OK {
		return nil
	}
	return millrace.Errorf(millrace.ErrRuntime, "TensorFlow does not run here: see %s", strings.Join(failed, ", "))
}

func (p *program) printFinding(f doctor.Finding) error {
	if err := p.Printf("%-4s  %-12s  %s\n", f.State, f.Check, f.Detail); err != nil || f.Remedy == "" {
		return err
	}
	return p.Printf("%-4s  %-12s  -> %s\n", "", "", f.Remedy)
}

// probe returns a command that starts this program again to try a runtime. The command
// is verbose, because otherwise the last messages of a crashing library are lost.
func (p *program) probe(ctx context.Context, dir string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{os.Args[0], "runtime", "probe", "--verbose", "--runtime", dir}
	if p.Verbose {
		cmd.Stderr = p.Stderr
	}
	return cmd, nil
}

// runtimeProbeCommand tries the runtime for the doctor.
func (p *program) runtimeProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "probe",
		Short:   "Try the runtime, for runtime doctor",
		Example: "  millrace runtime probe",
		Hidden:  true,
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			b, err := json.Marshal(doctor.Try(p.RuntimeOptions()))
			if err != nil {
				return err
			}
			return p.Printf("%s\n", b)
		},
	}
}
