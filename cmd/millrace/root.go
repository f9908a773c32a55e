package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"sync/atomic"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/terminal"
	"millrace/tfbridge"
)

// program is one run of millrace. Its fields are shared by all subcommands.
type program struct {
	stdout, stderr io.Writer
	runtimeDir     string
	verbose        bool
	unfinished     atomic.Value // string: what is incomplete if the command stops now
	grace          atomic.Int64 // how long the command may take to stop after a signal, in ns; 0: [grace]
}

const rootLong = `Millrace runs TensorFlow input pipelines and models. A JSON config says which
TFRecord files to read and how; a SavedModel predicts over them. There is no
Python in the process.

Start with:
  millrace runtime install              get TensorFlow's library, once
  millrace inspect DATASET_DIR          show the files and features of a dataset
  millrace inspect MODEL_DIR            show the signatures of a model
  millrace index DATASET_DIR            remember where every record is
  millrace check CONFIG                 find every problem in a config
  millrace predict CONFIG --model DIR --out FILE
  millrace train RUN.json --dir RUN_DIR     train, and go on after a stop
  millrace serve --model NAME=DIR       answer TensorFlow Serving's clients`

const rootExit = `

Exit codes:
  0   done
  1   a test of millrace ops test failed
  2   the command line, a config, a manifest or a list file is wrong
  3   data is corrupt or truncated, or does not match the manifest
  4   the model is missing, broken or unsafe, or does not match the config
  5   a checkpoint is missing or broken
  6   a limit is exceeded
  7   an i/o error, or the TensorFlow runtime is missing or broken
  70  internal error
  130, 143  stopped by SIGINT, SIGTERM (129: SIGHUP)
  134       a crash of Go or TensorFlow (SIGABRT)
  141       the reader of standard output closed it (SIGPIPE)`

// root returns the command with all its subcommands.
func (p *program) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:           "millrace",
		Short:         "Run TensorFlow input pipelines and models",
		Long:          rootLong + rootExit,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&p.runtimeDir, "runtime", "", "folder of the TensorFlow runtime (default $"+tfbridge.RuntimeEnv+", then the one that runtime install installed)")
	root.PersistentFlags().BoolVar(&p.verbose, "verbose", false, "show TensorFlow's own log")
	root.AddCommand(p.checkCommand(), p.planCommand(), p.inspectCommand(), p.indexCommand(), p.dumpCommand(), p.predictCommand(), p.serveCommand(),
		p.trainCommand(), p.evaluateCommand(), p.exportCommand(), p.reportCommand(), p.benchCommand(), p.runtimeCommand(), p.opsCommand(), p.schemaCommand(), p.versionCommand())
	return root
}

// names returns the names of the visible subcommands.
func names(c *cobra.Command) []string {
	var list []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

// run runs a command line and returns the exit code. It prints all problems to
// stderr, one per line.
func (p *program) run(ctx context.Context, args []string) int {
	return p.guard(func() int {
		root := p.root()
		root.SetArgs(args)
		err := root.ExecuteContext(ctx)
		return p.finish(ctx, err)
	})
}

// guard turns a panic in run into a message and an exit code.
func (p *program) guard(run func() int) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.stderr, "internal error, please report: %s\n", terminal.Line(fmt.Sprint(r)))
			if p.verbose {
				p.stderr.Write(debug.Stack())
			}
			code = exitInternal
		}
	}()
	return run()
}

// runtimeOptions returns the options to open the runtime with.
func (p *program) runtimeOptions() *tfbridge.RuntimeOptions {
	return &tfbridge.RuntimeOptions{Dir: p.runtimeDir, Verbose: p.verbose}
}

// warm starts to open TensorFlow in the background while the config is checked:
// opening takes longer than everything else before the first batch. The first
// call that needs TensorFlow waits for it and gets its error.
func (p *program) warm() {
	go tfbridge.Open(p.runtimeOptions())
}

// printf writes to stdout.
func (p *program) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.stdout, format, args...)
	return stdoutError(err)
}

// printJSON writes a value to stdout as JSON.
func (p *program) printJSON(value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return p.printf("%s\n", terminal.AppendJSON(nil, b))
}

// note prints a remark for the user to stderr. A remark is not a failure.
func (p *program) note(format string, args ...any) {
	fmt.Fprintf(p.stderr, "note: %s\n", terminal.Line(fmt.Sprintf(format, args...)))
}

// warn prints a warning to stderr. A warning is not a failure.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintf(p.stderr, "warning: %s\n", terminal.Line(fmt.Sprintf(format, args...)))
}

// stdoutError describes a failure to write to standard output.
func stdoutError(err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return millrace.Errorf(millrace.ErrIO, "write standard output: %w", err)
}
