package hdf5_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace/internal/base/hdf5"
)

const keras = "../../../estimator/weights/testdata/"

// The values of a file from Keras equal Keras's.
func TestKeras(t *testing.T) {
	data, err := os.ReadFile(keras + "small.weights.h5")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(keras + "values.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]float32
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{
		"conv/kernel": "layers/conv2d/vars/0", "conv/bias": "layers/conv2d/vars/1", "norm/gamma": "layers/batch_normalization/vars/0",
		"norm/moving_variance": "layers/batch_normalization/vars/3", "hidden/kernel": "layers/dense/vars/0", "head/bias": "layers/dense_1/vars/1",
	}
	for weight, path := range paths {
		i := slices.IndexFunc(f.Datasets, func(d hdf5.Dataset) bool { return d.Name == path })
		if i < 0 {
			t.Errorf("no array %s among %v", path, f.Datasets)
			continue
		}
		d := &f.Datasets[i]
		b, err := f.Elements(d)
		if err != nil || d.Type != hdf5.Float32 {
			t.Fatalf("%s: %v, %v", path, d.Type, err)
		}
		var got []float32
		for ; len(b) >= 4; b = b[4:] {
			got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		if !slices.Equal(got, want[weight]) {
			t.Errorf("%s is %v, Keras has %v", weight, got, want[weight])
		}
	}
	if got := f.Names["layers/conv2d/vars"]; got != "conv" {
		t.Errorf("the layer is called %q among %v", got, f.Names)
	}
	if got := f.Datasets[slices.IndexFunc(f.Datasets, func(d hdf5.Dataset) bool { return d.Name == "layers/conv2d/vars/0" })].Shape; !slices.Equal(got, []int64{2, 2, 3, 2}) {
		t.Errorf("shape %v", got)
	}
}

// Damage is an error with the location, and unsupported features are refused by name.
func TestDamaged(t *testing.T) {
	data, err := os.ReadFile(keras + "small.weights.h5")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want string
		edit func(b []byte) []byte
	}{
		{"not an HDF5 file", func(b []byte) []byte { return b[1:] }},
		{"not an HDF5 file", func([]byte) []byte { return nil }},
		{"damaged: the file has 50 bytes", func(b []byte) []byte { return b[:50] }},
		{"superblock of version 2", func(b []byte) []byte { b[8] = 2; return b }},
		{"goes beyond the end of the file", func(b []byte) []byte { return b[:1000] }},
		{"damaged", func(b []byte) []byte { copy(b[64:], bytes.Repeat([]byte{0xff}, 8)); return b }},
	} {
		b := tt.edit(bytes.Clone(data))
		_, err := hdf5.Read(bytes.NewReader(b), int64(len(b)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// FuzzRead mutates files: reading must always end without a panic, and must not use
// more memory than the size of the file.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(keras + "small.weights.h5")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{})
	for _, at := range []uint32{8, 24, 64, 96, 136, 680, 800, 1500, 2048, 4000, 6000, 8000} {
		f.Add(at, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
		f.Add(at, []byte{0, 0, 0, 0, 0, 0, 0, 0})
		f.Add(at, []byte{1})
	}
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		b := bytes.Clone(data)
		copy(b[int(at)%len(b):], change)
		file, err := hdf5.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		total := int64(0)
		for i := range file.Datasets {
			d := &file.Datasets[i]
			if total += d.Bytes(); d.Bytes() > int64(len(b)) {
				t.Fatalf("%+v is larger than the file", d)
			}
			if e, err := file.Elements(d); err == nil && int64(len(e)) != d.Bytes() {
				t.Fatalf("%+v has %d bytes", d, len(e))
			}
		}
	})
}
