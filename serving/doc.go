// Package serving keeps models ready for requests, as TensorFlow Serving does: by name,
// in numbered versions, each in its own folder below the model's base path.
//
//	server, err := serving.New(ctx, []serving.ModelConfig{{Name: "digits", BasePath: "/models/digits"}}, nil)
//	...
//	defer server.Close()
//	version, err := server.Acquire(serving.ModelSpec{Name: "digits"})
//	...
//	defer version.Release()
//	outputs, err := version.Predict(ctx, "", map[string]any{"x": [][]float32{{1, 2, 3}}})
//
// Package serving/rest answers HTTP requests from a Server, package serving/rpc
// those of gRPC clients.
package serving

/*
The life of a version

	START -> LOADING -> AVAILABLE -> UNLOADING -> END
	              \________(failed)_______________/

A Server looks at the base paths again and again. The version policy says which
versions it wants of those it finds. What it wants and does not have, it loads: it
checks the model, restores its variables, and runs the warmup requests that the
model brings along. Only then does the version take requests.

What it has and no longer wants, it unloads, but not before one of the wanted
versions is available. So a new version replaces the old one without a gap, and a
broken one leaves the old one in place. The status of the broken one says what is
wrong.

Each request holds a reference to its version. A version that is unloaded takes no
new requests, and closes its model when the last of those that it has is done.

A version that fails to load is tried again, MaxNumLoadRetries times: its files
may still be on their way. After that it is left alone until it disappears from
the base path and comes back.
*/
