// Command millrace runs TensorFlow input pipelines and models.
//
// Each subcommand is a file of its own here, which parses flags and prints;
// what it does is in the packages below.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// With SIGPIPE caught, a write to a closed standard output is an error
	// like any other and does not end the process in the middle of things.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := untilSignal(context.Background())
	p := &program{stdout: os.Stdout, stderr: os.Stderr}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
