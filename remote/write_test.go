package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace"
	"millrace/internal/test/remotetest"
	"millrace/remote"
)

// writable are URLs of the same object in the stores that are written.
var writable = []string{"s3://data/out", "gs://data/out", "az://data/out"}

// part is the size of the parts in these tests.
const part = 512 << 10

// write writes an object.
func write(ctx context.Context, c *remote.Client, url string, data []byte) error {
	w, err := c.Create(ctx, url)
	if err != nil {
		return err
	}
	defer w.Close()
	for chunk := data; len(chunk) > 0; {
		n := min(len(chunk), 70_000)
		if _, err := w.Write(chunk[:n]); err != nil {
			return err
		}
		chunk = chunk[n:]
	}
	return w.Commit()
}

// An object is written whole, whatever a server does, or the old one stays, and no part of the
// new one is left.
func TestWrites(t *testing.T) {
	large := noise(2*part + 54321)
	once := func(at int, f remotetest.Fault) func(int, *http.Request) remotetest.Fault {
		return func(n int, _ *http.Request) (none remotetest.Fault) {
			if n == at {
				return f
			}
			return none
		}
	}
	from := func(at int, f remotetest.Fault) func(int, *http.Request) remotetest.Fault {
		return func(n int, r *http.Request) (none remotetest.Fault) {
			if n >= at && r.Method != http.MethodDelete {
				return f
			}
			return none
		}
	}
	busy := remotetest.Fault{Status: 503, Code: "SlowDown"}
	tests := []struct {
		name  string
		data  []byte
		fault func(n int, r *http.Request) remotetest.Fault
		want  string // part of the error; "": the object is written
		is    error
	}{
		{"nothing", []byte("new"), nil, "", nil},
		{"no bytes", nil, nil, "", nil},
		{"one part exactly", large[:part], nil, "", nil},
		{"two parts exactly", large[:2*part], nil, "", nil},
		{"many parts", large, nil, "", nil},
		{"a small object is cut", []byte("new"), once(0, remotetest.Fault{CutAt: 2}), "", nil},
		{"the answer to a small object is lost", []byte("new"), once(0, remotetest.Fault{Lost: true}), "", nil},
		{"a part is cut", large, once(2, remotetest.Fault{CutAt: 300_000}), "", nil},
		{"a part is cut in its first unit", large, once(2, remotetest.Fault{CutAt: 3}), "", nil},
		{"the answer to a part is lost", large, once(2, remotetest.Fault{Lost: true}), "", nil},
		{"the answer to the last part is lost", large, once(3, remotetest.Fault{Lost: true}), "", nil},
		{"the answer to the end is lost", large, once(4, remotetest.Fault{Lost: true}), "", nil},
		{"a part is refused for a while", large, once(2, busy), "", nil},
		{"the end hangs once", large, once(3, remotetest.Fault{Hang: true}), "", nil},
		{"parts are cut for ever", large, from(2, remotetest.Fault{CutAt: 1000}), "attempts)", nil},
		{"never an answer", large, from(1, remotetest.Fault{Hang: true}), "did not answer in time (4 attempts)", nil},
		{"busy for ever", []byte("new"), from(0, busy), "(11 attempts)", nil},
		{"not allowed", large, from(0, remotetest.Fault{Status: 403, Code: "AccessDenied"}), "the credentials lack ", fs.ErrPermission},
	}
	for _, tt := range tests {
		for _, url := range writable {
			t.Run(url[:2]+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := remotetest.NewServer()
					s.Put("/data/out", []byte("old"))
					s.Fault = tt.fault
					c := client(t, s, remote.Options{Part: part})
					err := write(t.Context(), c, url, tt.data)
					s.Fault = nil
					if n := len(s.Requests()); tt.name == "many parts" && url[:2] == "gs" && n != 4 {
						t.Errorf("%d requests, want one to begin and one for each part: %q", n, s.Requests())
					}
					want := tt.data
					if tt.want != "" {
						want = []byte("old")
						if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), url) || strings.Contains(err.Error(), secret) {
							t.Errorf("got %v, want %s", err, tt.want)
						}
						if !errors.Is(err, millrace.ErrIO) || tt.is != nil && !errors.Is(err, tt.is) {
							t.Errorf("the error is not %v: %v", tt.is, err)
						}
					} else if err != nil {
						t.Error(err)
					}
					if got := s.Object("/data/out"); !bytes.Equal(got, want) {
						t.Errorf("the object has %d bytes, want %d", len(got), len(want))
					}
					if n := s.Uploads(); n != 0 {
						t.Errorf("%d uploads are left", n)
					}
					if got, err := read(t.Context(), c, url, 1<<20); err != nil || !bytes.Equal(got, want) {
						t.Errorf("read %d bytes, %v", len(got), err)
					}
				})
			})
		}
	}
}

// What is not committed leaves nothing, also after the context of the writer has ended.
func TestWritesDiscarded(t *testing.T) {
	for _, url := range writable {
		synctest.Test(t, func(t *testing.T) {
			s := remotetest.NewServer()
			c := client(t, s, remote.Options{Part: part})
			ctx, cancel := context.WithCancel(t.Context())
			w, err := c.Create(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(noise(2*part + 1)); err != nil || s.Uploads() != 1 && !strings.HasPrefix(url, "az:") { // whose blocks nobody sees
				t.Fatalf("%d uploads, %v", s.Uploads(), err)
			}
			time.AfterFunc(time.Second, cancel)
			s.Fault = func(_ int, r *http.Request) remotetest.Fault {
				return remotetest.Fault{Hang: r.Method != http.MethodDelete}
			}
			start := time.Now()
			if err := w.Commit(); !errors.Is(err, millrace.ErrCanceled) || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if s.Uploads() != 0 || s.Object("/data/out") != nil {
				t.Errorf("%d uploads, %d bytes are left", s.Uploads(), len(s.Object("/data/out")))
			}
		})
	}
}

// A program reads what it has written last.
func TestWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, remotetest.NewServer(), remote.Options{})
		for _, url := range writable {
			for _, text := range []string{"first", "second", "a longer one"} {
				if err := write(t.Context(), c, url, []byte(text)); err != nil {
					t.Fatal(err)
				}
				if got, err := read(t.Context(), c, url, 10); string(got) != text || err != nil {
					t.Errorf("%s: %q, %v; want %s", url, got, err, text)
				}
			}
			if err := c.Remove(t.Context(), url); err != nil {
				t.Error(err)
			}
			if _, err := read(t.Context(), c, url, 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was removed: %v", url, err)
			}
		}
	})
}

// Objects are removed, those that are missing without an error. A web server is not written.
func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		c := client(t, s, remote.Options{Part: part})
		for _, url := range writable {
			s.Put("/data/out", []byte("old"))
			for range 2 {
				if err := c.Remove(t.Context(), url); err != nil || s.Object("/data/out") != nil {
					t.Errorf("%s: %v", url, err)
				}
			}
		}
		_, err := c.Create(t.Context(), "http://s3.test/data/out?key="+secret)
		if err == nil || err.Error() != "http://s3.test/data/out: http:// is read only; write to a disk of this machine, s3:// or gs://" {
			t.Error(err)
		}
	})
}
