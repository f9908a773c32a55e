// Command embed serves a model by gRPC and HTTP at one port of a program that also has
// its own servers. Requests share batches, and clients show a token:
//
//	MODEL=examples/digits/model TOKEN=s3cret go run ./examples/embed
//	curl -H 'Authorization: Bearer s3cret' -d '{"instances": [...]}' localhost:8500/v1/models/digits:predict
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"google.golang.org/grpc"

	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/batching"
	"millrace/serving/oneport"
	"millrace/serving/rest"
	"millrace/serving/rpc"
)

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	l, err := net.Listen("tcp", "localhost:8500")
	if err == nil {
		err = serve(ctx, l, os.Getenv("MODEL"), os.Getenv("TOKEN"))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until ctx is done, and then those in flight.
func serve(ctx context.Context, l net.Listener, dir, token string) (err error) {
	models, err := serving.New(ctx, []serving.ModelConfig{{Name: "digits", BasePath: dir}}, &serving.Options{Batching: &batching.Options{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, models.Close()) }()
	who := auth.Tokens(map[string]string{token: "client"})
	o := &rpc.Options{Authenticate: who}
	yours := grpc.NewServer(rpc.ServerOptions(o)...) // add your own options
	rpc.Register(yours, models, o)
	mux := http.NewServeMux() // add your own paths
	mux.Handle("/v1/", rest.NewHandler(models, &rest.Options{Authenticate: who}))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}

	toRPC, toREST := oneport.Split(l, nil)
	go yours.Serve(toRPC) // it ends without an error below, as web does
	go web.Serve(toREST)
	<-ctx.Done()
	yours.GracefulStop()
	return web.Shutdown(context.WithoutCancel(ctx))
}
