// Command reading runs the input pipelines of TensorFlow's guide "Reading data", built
// of queues: files are read, decoded, shuffled and batched by goroutines.
//
//	go run ./examples/reading -program csv|fixed|records|whole FILE...
//
// It prints one JSON object a batch. README.md says what the programs read.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// options are the command line.
type options struct {
	program         string
	threads         int
	readers         int
	shuffle         bool
	minAfterDequeue int
	capacity        int
	batch           int
	smallerFinal    bool
	epochs          int64
	seed            int64
	filter          bool
	files           []string
}

// errUsage is a wrong command line. The flag package has printed the error already.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "reading:", err)
		os.Exit(1)
	}
}

// command runs the program with arguments.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.readers > len(o.files) {
		fmt.Fprintf(stderr, "reading: %d readers of %d files: some readers will have nothing to read\n", o.readers, len(o.files))
	}
	batches, err := read(ctx, o, stdout)
	if err == nil && batches == 0 && !o.smallerFinal {
		fmt.Fprintf(stderr, "reading: fewer than %d examples, so there is no batch; -smaller-final prints what is left\n", o.batch)
	}
	return err
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("reading", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.program, "program", "", "what to read: csv, fixed, records or whole")
	flags.IntVar(&o.threads, "threads", 1, "goroutines that share one reader, which reads one file at a time")
	flags.IntVar(&o.readers, "readers", 1, "readers that read different files at the same time")
	flags.BoolVar(&o.shuffle, "shuffle", false, "shuffle the files of each epoch, and the examples")
	flags.IntVar(&o.minAfterDequeue, "min-after-dequeue", 0, "examples to shuffle among")
	flags.IntVar(&o.capacity, "capacity", 0, "examples to read ahead, those to shuffle among included; 0: as many as recommended")
	flags.IntVar(&o.batch, "batch", 32, "examples of a batch")
	flags.BoolVar(&o.smallerFinal, "smaller-final", false, "print what is left at the end as a smaller batch")
	flags.Int64Var(&o.epochs, "epochs", 1, "how often to read the files; 0: without end")
	flags.Int64Var(&o.seed, "seed", 0, "seed of the shuffling; 0: another order each time")
	flags.BoolVar(&o.filter, "filter", false, "leave out about half of the examples, chosen by their bytes")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: reading -program csv|fixed|records|whole [flags] FILE...\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, errUsage
	}
	o.files = flags.Args()
	if problem := o.check(); problem != "" {
		fmt.Fprintln(stderr, "reading:", problem)
		flags.Usage()
		return nil, errUsage
	}
	return o, nil
}

// check returns what is wrong with the options, "" if nothing is.
func (o *options) check() string {
	_, known := programs[o.program]
	switch {
	case !known:
		return fmt.Sprintf("-program is %q, must be csv, fixed, records or whole", o.program)
	case len(o.files) == 0:
		return "there are no files"
	case o.threads < 1 || o.readers < 1 || o.batch < 1:
		return "-threads, -readers and -batch must be 1 or more"
	case o.threads > 1 && o.readers > 1:
		return "-threads is for one reader; with several readers each has its own goroutine"
	case o.epochs < 0 || o.capacity < 0 || o.minAfterDequeue < 0:
		return "-epochs, -capacity and -min-after-dequeue must not be negative"
	case o.minAfterDequeue > 0 && !o.shuffle:
		return "-min-after-dequeue needs -shuffle"
	case o.capacity > 0 && o.capacity <= o.minAfterDequeue:
		return "-capacity must be larger than -min-after-dequeue"
	}
	return ""
}
