package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace"
	"millrace/internal/test/remotetest"
	"millrace/remote"
	"millrace/remote/az"
	"millrace/remote/gs"
	"millrace/remote/web"
)

// secret is a key that must not appear anywhere.
const secret = "secret-9f8e7d"

// client returns a client that reads a server by s3://, gs://, az:// and http://.
func client(t *testing.T, server *remotetest.Server, o remote.Options) *remote.Client {
	t.Helper()
	google, err := gs.New(&gs.Options{Getenv: func(string) string { return "s3.test" }, Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := az.New(&az.Options{Getenv: func(name string) string {
		return map[string]string{"AZURE_STORAGE_CONNECTION_STRING": remotetest.AzureAccount}[name]
	}, Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	c := remote.NewClient(o)
	c.Register("az", blobs)
	c.Register("gs", google)
	c.Register("s3", server.NewS3(t, secret))
	c.Register("http", web.New(&web.Options{Transport: server}))
	return c
}

// noise returns n random bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// urls name the same object in all stores.
var urls = []string{"s3://data/big", "gs://data/big", "az://data/big", "http://user:" + secret + "@s3.test/data/big?X-Amz-Signature=" + secret}

// read reads an object whole, in steps of a size.
func read(ctx context.Context, c *remote.Client, url string, step int) ([]byte, error) {
	f, err := c.Open(ctx, c.Conceal(url))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []byte
	buf := make([]byte, step)
	for {
		n, err := f.Read(buf)
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// Whatever a server does, a reader gets the object's bytes, or an error with the URL, the
// offset, the attempts and no secret.
func TestFaults(t *testing.T) {
	const size = 3<<20 + 12345
	data := noise(size)
	gets := func(n int) bool { return n > 0 } // the first request is that for the size
	tests := []struct {
		name  string
		fault func(start time.Time, s *remotetest.Server) func(n int, r *http.Request) remotetest.Fault
		want  []string // parts of the error; none: the bytes arrive
		is    error
	}{
		{"nothing", nil, nil, nil},
		{"each of more than 1,000 answers is cut", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{CutAt: 2999} }
		}, nil, nil},
		{"each answer ends early", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{EndAt: 70000} }
		}, nil, nil},
		{"503 for 30 s", func(start time.Time, _ *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) (f remotetest.Fault) {
				if since := time.Since(start); since < 30*time.Second {
					f = remotetest.Fault{Status: 503, Code: "SlowDown"}
				}
				return f
			}
		}, nil, nil},
		{"429 for ever", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) (f remotetest.Fault) {
				if gets(n) {
					f = remotetest.Fault{Status: 429, Code: "SlowDown"}
				}
				return f
			}
		}, []string{"/big: offset ", "(11 attempts)"}, nil},
		{"ranges are ignored", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{IgnoreRange: true} }
		}, nil, nil},
		{"no answer to one request in three", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{Hang: n%3 == 0} }
		}, nil, nil},
		{"never an answer", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{Hang: gets(n)} }
		}, []string{"did not answer in time", "offset ", "(4 attempts)"}, nil},
		{"connections are reset", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{Lost: gets(n)} }
		}, []string{"connection reset", "offset ", "(11 attempts)"}, nil},
		{"replaced in the middle", func(_ time.Time, s *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) (f remotetest.Fault) {
				if n == 3 {
					s.Put("/data/big", noise(size+1))
				}
				return f
			}
		}, []string{"replaced", "offset "}, remote.ErrChanged},
		{"removed in the middle", func(_ time.Time, s *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, _ *http.Request) (f remotetest.Fault) {
				if n >= 3 {
					f = remotetest.Fault{Status: 404, Code: "NoSuchKey"}
				}
				return f
			}
		}, []string{"there is no such", "offset "}, fs.ErrNotExist},
		{"credentials expire in the middle", func(time.Time, *remotetest.Server) func(int, *http.Request) remotetest.Fault {
			return func(n int, r *http.Request) (f remotetest.Fault) {
				if gets(n) {
					f = remotetest.Fault{Status: 403, Code: "ExpiredToken"}
				}
				return f
			}
		}, []string{"credentials", "offset "}, fs.ErrPermission},
	}
	for _, tt := range tests {
		for _, url := range urls {
			scheme, _ := remote.SchemeOf(url)
			t.Run(scheme+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := remotetest.NewServer()
					s.Put("/data/big", data)
					if tt.fault != nil {
						s.Fault = tt.fault(time.Now(), s)
					}
					got, err := read(t.Context(), client(t, s, remote.Options{}), url, 100_000)
					if !bytes.Equal(got, data[:min(len(got), size)]) {
						t.Error("the bytes are not those of the object")
					}
					if tt.want == nil {
						if err != nil || len(got) != size {
							t.Fatalf("%d of %d bytes, then %v", len(got), size, err)
						}
						return
					}
					for _, want := range append(tt.want, scheme+"://") {
						if err == nil || !strings.Contains(err.Error(), want) {
							t.Errorf("the error does not have %q: %v", want, err)
						}
					}
					if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "Signature")) {
						t.Errorf("the error has a secret: %v", err)
					}
					if !errors.Is(err, millrace.ErrIO) || tt.is != nil && !errors.Is(err, tt.is) {
						t.Errorf("the error is not %v: %v", tt.is, err)
					}
				})
			})
		}
	}
}

// A context that ends, ends a read at once, whatever the server does.
func TestCanceledReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		s.Put("/data/big", noise(1<<20))
		s.Fault = func(n int, _ *http.Request) remotetest.Fault { return remotetest.Fault{Hang: n > 0} }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := read(ctx, client(t, s, remote.Options{}), urls[0], 1000)
		if !errors.Is(err, millrace.ErrCanceled) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// What is wrong with the settings is one line with the URL and what to set.
func TestAdvice(t *testing.T) {
	tests := []struct {
		fault remotetest.Fault
		url   string
		want  string
	}{
		{remotetest.Fault{Status: 404, Code: "NoSuchBucket"}, "s3://data/x", "s3://data/x: http://s3.test answers NoSuchBucket; there is no bucket data; set AWS_ENDPOINT_URL if it is on another server"},
		{remotetest.Fault{}, "s3://data/x", "s3://data/x: http://s3.test answers NoSuchKey; there is no such object in the bucket"},
		{remotetest.Fault{Status: 403, Code: "AccessDenied"}, "s3://data/x", "s3://data/x: http://s3.test answers AccessDenied; the credentials lack s3:GetObject or s3:ListBucket for the bucket; set AWS_PROFILE or AWS_ACCESS_KEY_ID to others"},
		{remotetest.Fault{Status: 403, Code: "InvalidAccessKeyId"}, "s3://data/x", "s3://data/x: http://s3.test answers InvalidAccessKeyId; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile AWS_PROFILE, are not those of this server"},
		{remotetest.Fault{Status: 400, Code: "AuthorizationHeaderMalformed", Region: "eu-west-1"}, "s3://data/x", "s3://data/x: http://s3.test answers AuthorizationHeaderMalformed; set AWS_REGION=eu-west-1"},
		{remotetest.Fault{Status: 403, Code: "RequestTimeTooSkewed"}, "s3://data/x", "s3://data/x: http://s3.test answers RequestTimeTooSkewed; set the clock of this machine"},
		{remotetest.Fault{}, "s3://data", "s3://data: the URL has no key; write s3://BUCKET/KEY"},
		{remotetest.Fault{}, "hdfs://data/x", "hdfs://data/x: no store for the scheme hdfs; those of this program are az, gs, http, s3"},
		{remotetest.Fault{Status: 403}, "http://s3.test/x?key=" + secret, "http://s3.test/x: HTTP 403 Forbidden; the server wants other credentials; a signed URL may have expired"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			s := remotetest.NewServer()
			s.Fault = func(int, *http.Request) remotetest.Fault { return tt.fault }
			_, err := read(t.Context(), client(t, s, remote.Options{}), tt.url, 10)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Blocks of all files share one limit, which readers that proceed do not exceed, and a file
// that was read needs no request while its blocks are there.
func TestMemoryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 2 << 20
		s := remotetest.NewServer()
		data := noise(5 << 20)
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			s.Put("/data/"+name, data)
		}
		s.Put("/data/small", data[:1000])
		c := client(t, s, remote.Options{Memory: limit})
		done := make(chan error)
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			go func() {
				got, err := read(t.Context(), c, "s3://data/"+name, 30_000)
				if err == nil && !bytes.Equal(got, data) {
					err = errors.New("other bytes")
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if peak := c.MemoryPeak(); peak > limit || peak < limit/2 {
			t.Errorf("the blocks had up to %d bytes, the limit is %d", peak, limit)
		}
		for range 2 {
			before := len(s.Requests())
			if _, err := read(t.Context(), c, "s3://data/small", 100); err != nil {
				t.Fatal(err)
			}
			if n := len(s.Requests()) - before; before > 0 && n != 0 && n != 2 {
				t.Errorf("%d requests", n)
			}
		}
		before := len(s.Requests())
		if _, err := read(t.Context(), c, "s3://data/small", 100); err != nil || len(s.Requests()) != before {
			t.Errorf("%d more requests for a file whose block is there, %v", len(s.Requests())-before, err)
		}
	})
}

// A small read requests little, and a whole file comes in few requests.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		s.Put("/data/big", noise(40<<20))
		c := client(t, s, remote.Options{})
		f, err := c.Open(t.Context(), "s3://data/big")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadAt(make([]byte, 300), 20<<20); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.Sent(); n > 300<<10 {
			t.Errorf("300 bytes took %d", n)
		}
		f.Close()
		if _, err := read(t.Context(), c, "s3://data/big", 256<<10); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Requests()); n > 15 {
			t.Errorf("%d requests for 40 MiB", n)
		}
	})
}

// Every request after the first one names the version, so that a server does not send
// another one.
func TestConditions(t *testing.T) {
	for _, url := range urls {
		synctest.Test(t, func(t *testing.T) {
			s := remotetest.NewServer()
			s.Put("/data/big", noise(1<<20))
			named := 0
			s.Fault = func(n int, r *http.Request) (f remotetest.Fault) {
				if n > 0 && r.Header.Get("If-Match") == "" && r.URL.Query().Get("ifGenerationMatch") == "" {
					t.Errorf("%s: a request without a condition", url)
				}
				named = n
				return f
			}
			if _, err := read(t.Context(), client(t, s, remote.Options{}), url, 100_000); err != nil || named == 0 {
				t.Errorf("%s: %d more requests, %v", url, named, err)
			}
		})
	}
}

// Names of URLs have no secrets, and differ where the URLs do.
func TestConceal(t *testing.T) {
	c := remote.NewClient(remote.Options{})
	tests := []struct{ url, want string }{
		{"s3://data/x", "s3://data/x"},
		{"https://host/get?id=1", "https://host/get"},
		{"https://host/get?id=2", "https://host/get#2"},
		{"https://user:key@host/get?id=1", "https://host/get"},
		{"https://host/get?id=2", "https://host/get#2"},
	}
	for _, tt := range tests {
		if got := c.Conceal(tt.url); got != tt.want {
			t.Errorf("Conceal(%s) = %s, want %s", tt.url, got, tt.want)
		}
	}
}

// Lists come in pages, sorted, and each object is known afterwards.
func TestLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := remotetest.NewServer()
		for _, name := range []string{"a", "b/1", "b/2", "b/3", "b/4", "c"} {
			s.Put("/data/"+name, []byte(name))
		}
		c := client(t, s, remote.Options{})
		for _, scheme := range []string{"s3", "gs", "az"} {
			var got []string
			for o, err := range c.List(t.Context(), scheme+"://data/b/") {
				if err != nil || o.Size != 3 {
					t.Fatal(o, err)
				}
				got = append(got, o.URL)
			}
			if want := "%[1]s://data/b/1 %[1]s://data/b/2 %[1]s://data/b/3 %[1]s://data/b/4"; strings.Join(got, " ") != fmt.Sprintf(want, scheme) {
				t.Errorf("got %q", got)
			}
			before := len(s.Requests())
			if text, err := read(t.Context(), c, scheme+"://data/b/3", 10); string(text) != "b/3" || err != nil || len(s.Requests()) != before+1 {
				t.Errorf("%q, %v after %d requests, want one", text, err, len(s.Requests())-before)
			}
		}
		for _, err := range c.List(t.Context(), "http://s3.test/data/") {
			if err == nil || !strings.Contains(err.Error(), "name each file in a dataset of type list") {
				t.Errorf("a list of a web server: %v", err)
			}
		}
	})
}
