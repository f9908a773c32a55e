package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"millrace/remote"
	"millrace/remote/s3"
)

// Another server than the one of package remotetest, over connections: objects of one and of
// several parts are written and read back, listed and removed, and an object that is replaced
// is noticed. The tests are in this module so that programs that use the library do not
// download that server.
func TestAnotherServer(t *testing.T) {
	backend := s3mem.New()
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	if err := backend.CreateBucket("songs"); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
	for name, value := range env {
		t.Setenv(name, value)
	}
	store, err := s3.New(&s3.Options{Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	c := remote.NewClient(remote.Options{Part: 5 << 20})
	c.Register("s3", store)
	ctx := t.Context()
	contents := map[string][]byte{
		"s3://songs/a/empty": {}, "s3://songs/a/odd name, ü+%": []byte("text"), "s3://songs/b/large": bytes.Repeat([]byte("0123456789abcdefg"), 12<<20/17),
	}
	for url, data := range contents {
		if err := storeObject(ctx, c, url, data); err != nil {
			t.Fatal(err)
		}
		if got, err := loadObject(ctx, c, url); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v; want %d", url, len(got), err, len(data))
		}
	}
	var names []string
	for o, err := range c.List(ctx, "s3://songs/a/") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(strings.TrimPrefix(o.URL, "s3://songs/"), " ", o.Size))
	}
	if got, want := strings.Join(names, ", "), "a/empty 0, a/odd name, ü+% 4"; got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
	other := remote.NewClient(remote.Options{}) // has no blocks of the object
	other.Register("s3", store)
	f, err := other.Open(ctx, "s3://songs/b/large")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := storeObject(ctx, c, "s3://songs/b/large", contents["s3://songs/b/large"][1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 10), 9<<20); !errors.Is(err, remote.ErrChanged) {
		t.Errorf("an object that was replaced: %v", err)
	}
	w, err := c.Create(ctx, "s3://songs/cut")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(contents["s3://songs/b/large"]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("close without commit: %v", err)
	}
	for _, url := range []string{"s3://songs/cut", "s3://songs/none", "s3://nobody/x"} {
		if _, err := c.Stat(ctx, url); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", url, err)
		}
	}
	for range 2 {
		if err := c.Remove(ctx, "s3://songs/a/empty"); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Stat(ctx, "s3://songs/a/empty"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that was removed: %v", err)
	}
}

// storeObject writes an object.
func storeObject(ctx context.Context, c *remote.Client, url string, data []byte) error {
	w, err := c.Create(ctx, url)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// loadObject reads an object.
func loadObject(ctx context.Context, c *remote.Client, url string) ([]byte, error) {
	f, err := c.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
