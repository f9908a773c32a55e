// Package cli has the parts that the commands of millrace share: the program that runs
// a command line, its exit codes, signals and standard output, and the flags that name
// configs and models.
//
// A family of commands is a package in the same folder, with a function for each
// command that takes the [Program]:
//
//	// Commands returns the commands of the family.
//	func Commands(p *cli.Program) []*cobra.Command {
//		return []*cobra.Command{checkCommand(p), planCommand(p)}
//	}
//
// A command of several steps is a type that embeds the Program, with its flags as fields. A
// small family may be one such type with a method for each command.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/base/terminal"
	"millrace/tfbridge"
)

// Program is one run of millrace. All commands share its fields. Stdout and Stderr
// must be set.
type Program struct {
	Stdout, Stderr io.Writer
	Version        string // the version of the program
	RuntimeDir     string // value of --runtime; "": the default
	Verbose        bool   // show TensorFlow's log

	memoryLimit int64

	sandbox sandboxFlags

	unfinished atomic.Value // string: what is incomplete if the command stops now
	onHangup   atomic.Value // func(): handles SIGHUP
	grace      atomic.Int64 // how long the command may take to stop after a signal, in ns; 0: [Grace]
}

// AddFlags declares the flags of the program at its root command, and prints the
// root's help and errors where the program prints.
func (p *Program) AddFlags(root *cobra.Command) {
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&p.RuntimeDir, "runtime", "", "folder of the TensorFlow runtime (default $"+tfbridge.RuntimeEnv+", then the one that runtime install installed)")
	root.PersistentFlags().BoolVar(&p.Verbose, "verbose", false, "show TensorFlow's own log, and which sandbox is in force")
	root.PersistentFlags().Var(Size(&p.memoryLimit, 0), "memory-limit", "refuse what the tensors of models and data take beyond `BYTES` together (0: no limit); needs runtime native")
	p.sandbox.add(root)
}

// SetUnfinished says what is incomplete if a signal stops the command now:
// "scores.npz is not written".
func (p *Program) SetUnfinished(what string) { p.unfinished.Store(what) }

// SetGrace sets how long the command may take to stop after a signal. Less than [Grace]
// has no effect.
func (p *Program) SetGrace(d time.Duration) { p.grace.Store(int64(d)) }

// OnHangup has f called for each SIGHUP, which no longer stops the command. f must return
// soon.
func (p *Program) OnHangup(f func()) {
	p.onHangup.Store(f)
	if !signal.Ignored(syscall.SIGHUP) {
		return // it comes to the other signals
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // nohup ignores the end of a terminal, not a request
	go func() {
		for range hangups {
			f()
		}
	}()
}

// hangup reports whether SIGHUP does not stop the command, and calls the function of
// OnHangup.
func (p *Program) hangup() bool {
	f, ok := p.onHangup.Load().(func())
	if ok {
		f()
	}
	return ok
}

// RuntimeOptions returns the options to open the runtime with.
func (p *Program) RuntimeOptions() *tfbridge.RuntimeOptions {
	return &tfbridge.RuntimeOptions{Dir: p.RuntimeDir, Verbose: p.Verbose, MemoryLimit: p.memoryLimit}
}

// Warm starts to open TensorFlow in the background while the config is checked:
// opening takes longer than everything else before the first batch. The first
// call that needs TensorFlow waits for it and gets its error.
//
// The folder for temporary files is made first. It changes the environment, and TensorFlow's
// libraries read theirs while they open: C allows no change of it then, and a process that
// did both at once ended with SIGSEGV.
func (p *Program) Warm() {
	p.sandbox.ownTemp() // Confine reports the error
	go tfbridge.Open(p.RuntimeOptions())
}

// Printf writes to standard output.
func (p *Program) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Stdout, format, args...)
	return StdoutError(err)
}

// PrintJSON writes a value to standard output as JSON.
func (p *Program) PrintJSON(value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return p.Printf("%s\n", terminal.AppendJSON(nil, b))
}

// Note prints a remark for the user to standard error. A remark is not a failure.
func (p *Program) Note(format string, args ...any) {
	fmt.Fprintf(p.Stderr, "note: %s\n", terminal.Line(fmt.Sprintf(format, args...)))
}

// Warn prints a warning to standard error. A warning is not a failure.
func (p *Program) Warn(format string, args ...any) {
	fmt.Fprintf(p.Stderr, "warning: %s\n", terminal.Line(fmt.Sprintf(format, args...)))
}

// PrintProblems prints each problem of an error on a separate line.
func (p *Program) PrintProblems(err error) {
	for _, line := range problems(err) {
		fmt.Fprintln(p.Stderr, line)
	}
}

// Predictions returns the writer for predictions that go to standard output. A
// reader that closes the pipe early is a failure here, because predictions are
// lost.
func (p *Program) Predictions() io.Writer {
	if o, ok := p.Stdout.(*standardOutput); ok {
		return o.w
	}
	return p.Stdout
}

// readerLeft reports whether the reader has closed standard output.
func (p *Program) readerLeft() bool {
	o, ok := p.Stdout.(*standardOutput)
	return ok && o.left.Load()
}

// StdoutError describes a failure to write to standard output.
func StdoutError(err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.Is(err, syscall.EBADF) {
		err = fmt.Errorf("it is closed: %w", err)
	}
	return millrace.Errorf(millrace.ErrIO, "write standard output: %w", err)
}
