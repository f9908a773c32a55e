package convert

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wav returns a file with samples in an encoding.
func wav(tag, channels, bits uint16, samples []byte) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00fmt \x10\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, tag)
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, 8000)
	b = append(b, make([]byte, 6)...)
	b = binary.LittleEndian.AppendUint16(b, bits)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(samples)))
	return append(b, samples...)
}

// sounds writes files in a folder for each class.
func sounds(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWAV converts sounds of each encoding. The same sample is the same number.
func TestWAV(t *testing.T) {
	f64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.5))
	f32 := binary.LittleEndian.AppendUint32(nil, math.Float32bits(-0.5))
	extensible := wav(wavExtensible, 1, 16, []byte{0, 0xc0})
	at := strings.Index(string(extensible), "fmt ")
	long := append([]byte{}, extensible[:at+24]...)
	long[at+4] = 40
	long = append(append(long, 22, 0, 16, 0, 4, 0, 0, 0, wavInteger, 0), make([]byte, 14)...)
	extensible = append(long, extensible[at+24:]...)
	dir, rows := converted(t, sounds(t, map[string][]byte{
		"no/1.wav": wav(wavInteger, 1, 8, []byte{64}), "no/2.wav": wav(wavInteger, 1, 16, []byte{0, 0xc0}),
		"no/3.wav": wav(wavInteger, 1, 24, []byte{0, 0, 0xc0}), "no/4.wav": wav(wavInteger, 1, 32, []byte{0, 0, 0, 0xc0}),
		"yes/5.wav": wav(wavFloat, 1, 32, f32), "yes/6.WAV": wav(wavFloat, 1, 64, f64), "yes/7.wav": extensible,
	}))
	for i, row := range rows {
		class := []string{`class=[][]["no"]`, "label=[0][][]"}
		if i >= 4 {
			class = []string{`class=[][]["yes"]`, "label=[1][][]"}
		}
		for _, want := range append(class, "audio=[][-0.5][]", "sample_rate=[8000][][]") {
			if !strings.Contains(row, want) {
				t.Errorf("row %d: %s\nwant %s", i, row, want)
			}
		}
	}
	if len(rows) != 7 || features(t, dir)["audio"] != "float32[1 1]" {
		t.Errorf("%d rows, %v", len(rows), features(t, dir))
	}
	stereo, rows := converted(t, sounds(t, map[string][]byte{
		"a/1.wav": wav(wavInteger, 2, 16, []byte{0, 0x40, 0, 0xc0, 0, 0, 0, 0}), "a/2.wav": wav(wavInteger, 2, 16, []byte{0, 0, 0, 0x40}),
	}))
	if features(t, stereo)["audio"] != "float32[-1 2]" || !strings.Contains(rows[0], "audio=[][0.5 -0.5 0 0]") {
		t.Errorf("%v: %v", features(t, stereo), rows)
	}
}

// TestWAVFaults converts files that are not sounds.
func TestWAVFaults(t *testing.T) {
	whole := wav(wavInteger, 1, 16, []byte{1, 2, 3, 4})
	for _, tt := range []struct {
		name, want string
		content    []byte
	}{
		{"text", "it does not begin with RIFF and WAVE", []byte("hello")},
		{"cut", "the header promises 4 bytes of samples, and 1 are there", whole[:len(whole)-3]},
		{"no samples", "the samples (chunk data) are missing", whole[:len(whole)-12]},
		{"no format", "the samples come before their format", []byte("RIFF\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00")},
		{"short format", "the chunk fmt has 3 bytes", []byte("RIFF\x00\x00\x00\x00WAVEfmt \x03\x00\x00\x00abc\x00")},
		{"mp3", "samples of 16 bits in the encoding 85", wav(85, 1, 16, nil)},
		{"no channel", "it has no channel", wav(wavInteger, 0, 16, nil)},
	} {
		dir := sounds(t, map[string][]byte{"a/x.wav": tt.content})
		_, err := Run(t.Context(), []string{dir}, filepath.Join(t.TempDir(), "out"), &Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.wav") {
			t.Errorf("%s: got %v\nwant %s in it", tt.name, err, tt.want)
		}
	}
	mixed := sounds(t, map[string][]byte{"a/1.wav": wav(wavInteger, 1, 16, []byte{1, 2}), "a/2.wav": wav(wavInteger, 2, 16, []byte{1, 2, 3, 4})})
	if _, err := Run(t.Context(), []string{mixed}, filepath.Join(t.TempDir(), "out"), &Options{}); err == nil || !strings.Contains(err.Error(), `2.wav: column "audio"`) {
		t.Errorf("one channel and two: got %v", err)
	}
}
