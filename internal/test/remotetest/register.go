package remotetest

import (
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"millrace/remote"
	"millrace/remote/s3"
)

// NewS3 returns a store that reads and writes the server's objects by s3://. The key is
// "key", with a secret.
func (s *Server) NewS3(t testing.TB, secret string) *s3.Store {
	t.Helper()
	env := map[string]string{"AWS_ENDPOINT_URL": "http://s3.test"}
	store, err := s3.New(&s3.Options{
		Getenv: func(name string) string { return env[name] }, Transport: s,
		Credentials: credentials.NewStaticV4("key", secret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Register makes the server the one behind s3:// for the length of a test.
func (s *Server) Register(t testing.TB) {
	t.Helper()
	remote.Register("s3", s.NewS3(t, "secret"))
	t.Cleanup(func() { remote.Register("s3", nil) })
}
