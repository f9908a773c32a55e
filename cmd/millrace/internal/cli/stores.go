package cli

import (
	"millrace/remote"
	"millrace/remote/az"
	"millrace/remote/gs"
	"millrace/remote/s3"
	"millrace/remote/web"
)

// RegisterStores registers the stores that the program reads: http, https, s3, gs and az. getenv
// returns the variables with their settings. With MILLRACE_GS=tensorflow TensorFlow's own
// reader has gs. A setting that is wrong is the error of each
// request to the store.
func RegisterStores(getenv func(string) string) {
	pages := web.New(nil)
	remote.Register("http", pages)
	remote.Register("https", pages)
	if buckets, err := s3.New(&s3.Options{Getenv: getenv}); err != nil {
		remote.Register("s3", remote.Unusable(err))
	} else {
		remote.Register("s3", buckets)
	}
	if blobs, err := az.New(&az.Options{Getenv: getenv}); err != nil {
		remote.Register("az", remote.Unusable(err))
	} else {
		remote.Register("az", blobs)
	}
	if getenv("MILLRACE_GS") == "tensorflow" {
		return
	}
	if buckets, err := gs.New(&gs.Options{Getenv: getenv}); err != nil {
		remote.Register("gs", remote.Unusable(err))
	} else {
		remote.Register("gs", buckets)
	}
}
