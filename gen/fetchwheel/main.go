// Fetchwheel downloads the pinned TensorFlow wheel into a directory, for the
// generators and for benchmarks against Python.
//
// Usage:
//
//	fetchwheel DIR
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"millrace/internal/tool/install"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fetchwheel DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	path, err := install.Fetch(ctx, os.Args[1], &install.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchwheel:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
