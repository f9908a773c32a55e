package rpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/test/identity"
)

// rawClient speaks HTTP/2 frame by frame.
type rawClient struct {
	t *testing.T
	net.Conn
	*http2.Framer
	headers bytes.Buffer
	encoder *hpack.Encoder
	ended   chan http2.ErrCode // gets the code of GOAWAY, or no code, when the server closes the connection
	refused chan uint32        // gets the streams that the server refuses, if the test asks for them
}

// dialRaw opens a connection and begins HTTP/2. It reads what the server sends.
func dialRaw(t *testing.T, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &rawClient{t: t, Conn: conn, Framer: http2.NewFramer(conn, conn), ended: make(chan http2.ErrCode, 1), refused: make(chan uint32, 100)}
	c.encoder = hpack.NewEncoder(&c.headers)
	io.WriteString(conn, http2.ClientPreface)
	c.WriteSettings()
	go func() {
		code := http2.ErrCodeNo
		for {
			f, err := c.ReadFrame()
			if err != nil {
				break
			}
			switch f := f.(type) {
			case *http2.GoAwayFrame:
				code = f.ErrCode
			case *http2.RSTStreamFrame:
				if f.ErrCode == http2.ErrCodeRefusedStream {
					select {
					case c.refused <- f.StreamID:
					default:
					}
				}
			}
		}
		c.ended <- code
	}()
	return c
}

// encode returns the headers of a request to predict, with more headers.
func (c *rawClient) encode(more ...hpack.HeaderField) []byte {
	c.headers.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/tensorflow.serving.PredictionService/Predict"},
		{Name: ":authority", Value: "a"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, more...) {
		c.encoder.WriteField(f)
	}
	return bytes.Clone(c.headers.Bytes())
}

// flood writes frames until the connection breaks or n are written, and returns how many were.
func flood(n int, write func(i int) error) int {
	for i := range n {
		if write(i) != nil {
			return i
		}
	}
	return n
}

// mostGoroutines calls a function and returns the largest number of additional
// goroutines during the call.
func mostGoroutines(call func()) int {
	before, most := runtime.NumGoroutine(), 0
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	for {
		select {
		case <-done:
			return most - before
		default:
			most = max(most, runtime.NumGoroutine())
			runtime.Gosched()
		}
	}
}

// A connection has at most maxStreams requests at a time: the server refuses the
// streams beyond and answers another client.
func TestMaxStreams(t *testing.T) {
	_, conn := startLimited(t, 64<<20, time.Minute)
	c := dialRaw(t, conn.Target())
	const beyond = 3
	for i := range uint32(maxStreams + beyond) {
		if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: c.encode(), EndHeaders: true}); err != nil {
			t.Fatalf("stream %d of %d: %v", i+1, maxStreams+beyond, err)
		}
	}
	for i := range uint32(beyond) {
		select {
		case id := <-c.refused:
			if want := 2*(maxStreams+i) + 1; id != want {
				t.Errorf("the server refused stream %d, want %d", id, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the server has taken %d requests of one connection", maxStreams+beyond-i)
		}
	}
	if _, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", vector(1)); err != nil {
		t.Errorf("a request on another connection: %v", err)
	}
	c.Close()
}

// Floods of frames end their connection, or cost the server only the time to read them;
// another client is answered meanwhile.
func TestFloods(t *testing.T) {
	s, conn := startLimited(t, 64<<20, time.Minute)
	for _, tt := range []struct {
		name  string
		ends  bool
		flood func(c *rawClient) (most, sent int)
	}{
		{"streams that are reset at once", false, func(c *rawClient) (int, int) {
			return 20_000, flood(20_000, func(i int) error {
				id := uint32(2*i + 1)
				if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.encode(), EndHeaders: true}); err != nil {
					return err
				}
				return c.WriteRSTStream(id, http2.ErrCodeCancel)
			})
		}},
		{"headers that continue", true, func(c *rawClient) (int, int) {
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.encode()})
			part := c.encode(hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 10_000)})
			return 10_000, flood(10_000, func(int) error { return c.WriteContinuation(1, false, part) })
		}},
		{"a header of the table, again and again", true, func(c *rawClient) (int, int) {
			c.encode(hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 3000)})
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: bytes.Clone(c.headers.Bytes())})
			again := bytes.Repeat([]byte{0x80 | 62}, 16_000) // the newest entry of the table, 3,000 bytes in one
			return 10_000, flood(10_000, func(int) error { return c.WriteContinuation(1, false, again) })
		}},
		{"pings", true, func(c *rawClient) (int, int) {
			return 1_000_000, flood(1_000_000, func(int) error { return c.WritePing(false, [8]byte{}) })
		}},
		{"settings", false, func(c *rawClient) (int, int) {
			return 20_000, flood(20_000, func(int) error {
				return c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			})
		}},
		{"windows that overflow", false, func(c *rawClient) (int, int) {
			return 1000, flood(1000, func(int) error { return c.WriteWindowUpdate(0, 1<<31-1) })
		}},
		{"parts of a message that are empty", false, func(c *rawClient) (int, int) {
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.encode(), EndHeaders: true})
			return 20_000, flood(20_000, func(int) error { return c.WriteData(1, false, nil) })
		}},
		{"frames of no known type", false, func(c *rawClient) (int, int) {
			return 20_000, flood(20_000, func(int) error { return c.WriteRawFrame(0x55, 0, 0, make([]byte, 100)) })
		}},
	} {
		c := dialRaw(t, conn.Target())
		besideSound(t, conn, func() {
			var most, sent int
			if more := mostGoroutines(func() { most, sent = tt.flood(c) }); more > maxStreams+200 {
				t.Errorf("%s: %d goroutines more", tt.name, more)
			}
			if !tt.ends {
				c.Close()
			}
			select { // the server may end the connection after the last frame
			case <-c.ended:
			case <-time.After(time.Minute):
				t.Errorf("%s: the server keeps the connection after %d of %d", tt.name, sent, most)
			}
			c.Close()
		})
		waitEmpty(t, s)
	}
}

// besideSound attacks the server while another client sends normal requests, each of
// which must be answered.
func besideSound(t *testing.T, conn *grpc.ClientConn, attack func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var sound sync.WaitGroup
	sound.Go(func() {
		for n := 0; ctx.Err() == nil || n == 0; n++ {
			if _, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", vector(1)); err != nil {
				t.Errorf("a sound request: %v", err)
				return
			}
		}
	})
	attack()
	stop()
	sound.Wait()
}

// Connections are closed if they stall before HTTP/2 begins, in a frame, or between
// frames without answering pings.
func TestStalledConnections(t *testing.T) {
	_, conn := startAs(t, 64<<20, func(s *services) {
		s.handshake = 500 * time.Millisecond
		s.keepalive.Time, s.keepalive.Timeout = time.Second, 100*time.Millisecond // gRPC takes no less than a second
	})
	besideSound(t, conn, func() {
		var stalled sync.WaitGroup
		for name, begin := range map[string]string{
			"nothing": "", "half a preface": http2.ClientPreface[:10], "no settings": http2.ClientPreface,
			"half a frame": http2.ClientPreface + frame(4, 0) + frame(1, 100)[:5], "half a header": http2.ClientPreface + frame(4, 0) + frame(1, 100) + "x",
			"no answers to pings": http2.ClientPreface + frame(4, 0),
		} {
			stalled.Go(func() {
				c, err := net.Dial("tcp", conn.Target())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				io.WriteString(c, begin)
				c.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: the connection stays open", name)
				}
			})
		}
		stalled.Wait()
	})
}

// frame returns the header of a frame of stream 0.
func frame(kind byte, length uint32) string {
	return string(append(binary.BigEndian.AppendUint32(nil, length<<8|uint32(kind)), 0, 0, 0, 0, 0))
}

// Handshakes of TLS that stall, break off or are invalid end; another client is
// answered meanwhile.
func TestStalledHandshakes(t *testing.T) {
	me := identity.New(t)
	_, plain := startAs(t, 64<<20, func(s *services) {
		s.handshake = time.Second / 2
		s.options.TLS = &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: me.Pool, ClientAuth: tls.RequireAndVerifyClientCert}
	})
	trusted := &tls.Config{RootCAs: me.Pool, ServerName: "localhost", Certificates: []tls.Certificate{me.TLS}}
	conn := dial(t, plain.Target(), credentials.NewTLS(trusted))
	defer conn.Close()
	besideSound(t, conn, func() { identity.Stall(t, plain.Target()) })
}

// A client that replaces the configuration with one that names odd paths gets an error,
// the models stay, and no file is made.
func TestHostileReload(t *testing.T) {
	_, conn := startAs(t, 64<<20, func(*services) {})
	dir := t.TempDir()
	fifo, logs := filepath.Join(dir, "fifo"), filepath.Join(dir, "logs")
	if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.Mkdir(logs, 0o700), os.Mkdir(filepath.Join(dir, "1"), 0o700), os.Symlink("/etc/passwd", filepath.Join(dir, "1", "saved_model.pb"))); err != nil {
		t.Fatal(err)
	}
	sound := func(prefix string) *servingproto.ModelConfig {
		return &servingproto.ModelConfig{Name: "constant", BasePath: testdata + "constant", LoggingConfig: &servingproto.LoggingConfig{
			LogCollectorConfig: &servingproto.LogCollectorConfig{FilenamePrefix: prefix}, SamplingConfig: &servingproto.SamplingConfig{SamplingRate: 1},
		}}
	}
	at := func(path string) *servingproto.ModelConfig {
		return &servingproto.ModelConfig{Name: "m", BasePath: path}
	}
	besideSound(t, conn, func() {
		for name, c := range map[string]*servingproto.ModelConfig{
			"a folder of the system": at("/etc"), "a file": at("/etc/passwd"), "up": at("../../../../../../../../etc"), "nothing": at(""), "a zero": at(testdata + "constant\x00"),
			"a long path": at("/" + strings.Repeat("a", 1<<20)), "a long relative path": at(strings.Repeat("../", 100_000)), "a FIFO": at(fifo), "/proc": at("/proc/self"),
			"a URL": at("gs://bucket/model"), "a link to a file": at(dir), "a long name": {Name: strings.Repeat("n", 1<<20), BasePath: testdata + "constant"}, "no name": {BasePath: testdata + "constant"}, "logs": sound(filepath.Join(logs, "x")), "logs up": sound(logs + "/../logs/x"),
		} {
			list := &servingproto.ModelConfigList{Config: []*servingproto.ModelConfig{c}}
			if c.Name != "constant" {
				list.Config = append(list.Config, &servingproto.ModelConfig{Name: "constant", BasePath: testdata + "constant"})
			}
			q := &servingproto.ReloadConfigRequest{Config: &servingproto.ModelServerConfig{Config: &servingproto.ModelServerConfig_ModelConfigList{ModelConfigList: list}}}
			_, err := ask[servingproto.ReloadConfigResponse](t, conn, "ModelService/HandleReloadConfigRequest", q)
			if code := status.Code(err); code == codes.OK || code == codes.Internal || code == codes.Unknown || code == codes.Unavailable || len(err.Error()) > 2000 {
				t.Errorf("%s: %.300v", name, err)
			}
		}
	})
	if made, err := os.ReadDir(logs); err != nil || len(made) > 0 {
		t.Errorf("files: %v, %v", made, err)
	}
}
