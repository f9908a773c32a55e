package cli

import (
	"millrace/remote"
	"millrace/remote/s3"
	"millrace/remote/web"
)

// RegisterStores registers the stores that the program reads: http, https and s3. getenv
// returns the variables with their settings. A setting that is wrong is the error of each
// request to the store.
func RegisterStores(getenv func(string) string) {
	pages := web.New(nil)
	remote.Register("http", pages)
	remote.Register("https", pages)
	store, err := s3.New(&s3.Options{Getenv: getenv})
	if err != nil {
		remote.Register("s3", remote.Unusable(err))
		return
	}
	remote.Register("s3", store)
}
