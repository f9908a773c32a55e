// Command service answers HTTP requests from a SavedModel by TensorFlow Serving's REST interface.
//
//	go run . -model ../digits/model -name digits
//	curl -d '{"instances": [...]}' localhost:8501/v1/models/digits:predict
//
// It is a separate module, like any program that uses millrace. Requests share batches,
// every request has a deadline, and on SIGINT or SIGTERM the program answers the
// requests in flight before it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"millrace/serving"
	"millrace/serving/batching"
	"millrace/serving/rest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "service:", err)
		}
		os.Exit(1)
	}
}

// run loads the model and serves it until ctx is done.
func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	addr := flags.String("addr", "localhost:8501", "address to listen on")
	dir := flags.String("model", "", "folder of the SavedModel, or of its versions")
	name := flags.String("name", "model", "name of the model in URLs")
	timeout := flags.Duration("timeout", 5*time.Second, "longest time for a request")
	grace := flags.Duration("grace", 10*time.Second, "longest time for the requests in flight at the end")
	maxBody := flags.Int64("max-body", 16<<20, "longest request body in bytes")
	ask := flags.Bool("probe", false, "ask the server at -addr whether it is ready, and serve nothing: for health checks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *ask {
		return probe(ctx, *addr, *name, *timeout)
	}
	if *dir == "" {
		return errors.New("-model is missing: name the SavedModel to serve")
	}
	models, err := serving.New(ctx, []serving.ModelConfig{{Name: *name, BasePath: *dir}}, &serving.Options{Batching: &batching.Options{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, models.Close()) }()

	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	slog.Info("serving", "model", *dir, "url", fmt.Sprintf("http://%s/v1/models/%s", listener.Addr(), *name))
	web := rest.NewServer(models, &rest.ServerOptions{Options: rest.Options{Timeout: *timeout, MaxBodyBytes: *maxBody}})
	return serve(ctx, listener, web, *grace)
}

// serve answers requests until ctx ends. It then waits for the requests in flight.
func serve(ctx context.Context, l net.Listener, web *rest.Server, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	slog.Info("shutting down")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := web.Shutdown(last); err != nil {
		return fmt.Errorf("requests were still running after %v: %w", grace, err)
	}
	return <-ended
}
