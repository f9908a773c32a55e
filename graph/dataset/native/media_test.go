package native_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/internal/base/bytecheck"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// media are images and sounds of all formats that are checked.
func media() [][]byte {
	return [][]byte{
		corrupt.PNG(300, 200), corrupt.PNG(1, 1, corrupt.PNGText(5000)), corrupt.JPEG(300, 200, true), corrupt.JPEG(300, 200, false),
		corrupt.GIF(3, 50, 40), corrupt.WebP(160, 16), corrupt.TopDownBMP(), corrupt.WAV(2), corrupt.WAV(32767),
		corrupt.JXL(100, 1<<20, false), corrupt.JXL(100, 100, true), []byte("neither"), nil,
	}
}

// The operation refuses the same bytes as Go does, with the same words.
func TestCheckMedia(t *testing.T) {
	needLibrary(t)
	r := rand.New(rand.NewPCG(1, 2))
	specs := []bytecheck.Spec{
		{Op: "DecodeImage", DType: dtype.Uint8, Limit: 50_000},
		{Op: "DecodeImage", DType: dtype.Float, Channels: 3, First: true, Limit: 200_000},
		{Op: "DecodeImage", DType: dtype.Uint16, Channels: 4, Limit: 1},
		{Op: "DecodeWav", Channels: -1, Samples: -1, Limit: 1000},
		{Op: "DecodeWav", Channels: 30000, Samples: -1, Limit: 1 << 20},
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	s := graph.NewScopeWithGraph(g)
	in := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	var out []tfbridge.Output
	for i := range specs {
		out = append(out, native.CheckMedia(s, "step", in, &specs[i]))
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	session, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	refused := 0
	for range soak.Repeat(40, 4000, 1) {
		for _, b := range media() {
			for range r.IntN(4) {
				if len(b) > 0 {
					b[r.IntN(min(len(b), 64))] = byte(r.Uint32() >> r.IntN(25))
				}
			}
			i := r.IntN(len(specs))
			_, want := specs[i].Check([][]byte{b})
			x, err := tfbridge.NewTensor(string(b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := session.Run(map[tfbridge.Output]*tfbridge.Tensor{in: x}, out[i:i+1], nil)
			x.Close()
			for _, y := range got {
				y.Close()
			}
			if want != nil {
				refused++
			}
			if (err != nil) != (want != nil) || err != nil && !strings.Contains(err.Error(), wordsOf(want)) {
				t.Fatalf("%+v of %.80q:\n got %v\nwant %v", specs[i], b, err, want)
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d were refused", refused)
	}
}

// wordsOf returns the words of an error of bytecheck. The operation does not know the data type,
// and zlib reads a little further than Go before it finds damaged bytes.
func wordsOf(err error) string {
	text, _, _ := strings.Cut(err.Error(), " alone, not to")
	if strings.Contains(text, "a PNG") {
		text, _, _ = strings.Cut(text, " take ")
	}
	_, text, _ = strings.Cut(text, "a ")
	return text
}
