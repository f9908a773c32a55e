package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"millrace/dtype"
	"millrace/internal/base/hdf5"
	"millrace/tfbridge"
)

// file is a source that is one file.
type file struct {
	*Source
	r    io.ReaderAt
	size int64
}

// maxUnpacked is the largest size of a compressed member of a .keras file. Keras itself
// does not compress.
const maxUnpacked = 1 << 30

// archive reads a .keras file: a ZIP archive with the weights in a member.
func archive(f *file) error {
	z, err := zip.NewReader(f.r, f.size)
	if err != nil {
		return fmt.Errorf("a .keras file is a ZIP archive: %w", err)
	}
	const name = "model.weights.h5"
	i := slices.IndexFunc(z.File, func(m *zip.File) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("the archive has no %s", name)
	}
	m := z.File[i]
	if m.Method == zip.Store {
		at, err := m.DataOffset()
		size := int64(min(m.UncompressedSize64, uint64(f.size)))
		if err != nil || at < 0 || at > f.size-size || m.CompressedSize64 != m.UncompressedSize64 {
			return fmt.Errorf("damaged: %s is not in the archive", name)
		}
		return f.hdf5(io.NewSectionReader(f.r, at, size), size)
	}
	in, err := m.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxUnpacked+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxUnpacked {
		return fmt.Errorf("%s is compressed and has more than %d bytes; store it without compression, as Keras does", name, maxUnpacked)
	}
	return f.hdf5(bytes.NewReader(data), int64(len(data)))
}

// types are the types of HDF5 and safetensors.
var types = map[string]dtype.DataType{
	"float16": dtype.Half, "bfloat16": dtype.Bfloat16, "float32": dtype.Float, "float64": dtype.Double,
	"int8": dtype.Int8, "int16": dtype.Int16, "int32": dtype.Int32, "int64": dtype.Int64, "uint8": dtype.Uint8,
	"F16": dtype.Half, "BF16": dtype.Bfloat16, "F32": dtype.Float, "F64": dtype.Double,
	"I8": dtype.Int8, "I16": dtype.Int16, "I32": dtype.Int32, "I64": dtype.Int64, "U8": dtype.Uint8, "BOOL": dtype.Bool,
}

// hdf5 reads a file that Keras wrote. Its variables have numbers and no names:
//
//	layers/conv2d/vars          attribute "name": conv
//	layers/conv2d/vars/0        the kernel
//
// An older file, of Keras 2, has the names of the weights as paths.
func (f *file) hdf5(r io.ReaderAt, size int64) error {
	f.Format = "Keras weights"
	h, err := hdf5.Read(r, size)
	if err != nil {
		return err
	}
	var found []*hdf5.Dataset
	for i := range h.Datasets {
		d := &h.Datasets[i]
		if d.Type == "" {
			f.Skipped = append(f.Skipped, fmt.Sprintf("%s: %s", d.Name, d.Reason))
			continue
		}
		t := Tensor{Names: []string{d.Name}, DType: types[string(d.Type)], Shape: dtype.MakeShape(d.Shape...)}
		if dir, last := path.Split(d.Name); path.Base(dir) == "vars" {
			if n, err := strconv.Atoi(last); err == nil {
				t.Layer, t.Index = layerName(h.Names, path.Dir(path.Clean(dir))), n
				t.Names = append([]string{t.Layer + "/" + last}, t.Names...)
			}
		}
		f.Tensors, found = append(f.Tensors, t), append(found, d)
	}
	f.read = func(i int) (*tfbridge.Tensor, error) {
		data, err := h.Elements(found[i])
		if err != nil {
			return nil, f.failure("%w", err)
		}
		return tfbridge.NewTensorFromBytes(f.Tensors[i].DType, f.Tensors[i].Shape.Dims(), data)
	}
	return nil
}

// layerName returns the names of the layers along a path, by the groups of their
// variables; "layers" and other folders have none.
func layerName(names map[string]string, dir string) string {
	var parts []string
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		if name := names[at+"/vars"]; name != "" {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return dir
	}
	return strings.Join(parts, "/")
}

// maxSafetensorsHeader is the largest header that the reference implementation takes.
const maxSafetensorsHeader = 100 << 20

// safetensors reads a file of that format: the length of a header, the header in JSON,
// and the elements of the tensors.
func safetensors(f *file) error {
	f.Format = "safetensors"
	head := make([]byte, 8)
	if _, err := f.r.ReadAt(head, 0); err != nil {
		return fmt.Errorf("a safetensors file begins with the length of its header: %w", err)
	}
	length := binary.LittleEndian.Uint64(head)
	if length > maxSafetensorsHeader || length > uint64(max(0, f.size-8)) {
		return fmt.Errorf("damaged: a header of %d bytes in a file of %d", length, f.size)
	}
	text := make([]byte, length)
	if _, err := f.r.ReadAt(text, 8); err != nil {
		return fmt.Errorf("read the header: %w", err)
	}
	var header map[string]struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("damaged header: %w", err)
	}
	delete(raw, "__metadata__")
	rest, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(rest, &header)
	}
	if err != nil {
		return fmt.Errorf("damaged header: %w", err)
	}
	data := f.size - 8 - int64(length)
	var begins []int64
	for _, name := range slices.Sorted(maps.Keys(header)) {
		h := header[name]
		dt, known := types[h.DType]
		if !known {
			f.Skipped = append(f.Skipped, fmt.Sprintf("%s: the type %q", name, h.DType))
			continue
		}
		bytes, ok := int64(dtypeSize(dt)), true
		for _, n := range h.Shape {
			ok = ok && n >= 0 && n <= math.MaxInt32 && (n == 0 || bytes <= math.MaxInt64/n)
			bytes *= max(0, n)
		}
		begin, end := h.Offsets[0], h.Offsets[1]
		if !ok || begin < 0 || end < begin || end > data || end-begin != bytes {
			return fmt.Errorf("damaged: tensor %q of type %s and shape %v at bytes %d to %d of %d", name, h.DType, h.Shape, begin, end, data)
		}
		f.Tensors = append(f.Tensors, Tensor{Names: []string{name, strings.ReplaceAll(name, ".", "/")}, DType: dt, Shape: dtype.MakeShape(h.Shape...)})
		begins = append(begins, 8+int64(length)+begin)
	}
	f.read = func(i int) (*tfbridge.Tensor, error) {
		t := &f.Tensors[i]
		size := int64(dtypeSize(t.DType))
		for _, n := range t.Shape.Dims() {
			size *= n
		}
		b := make([]byte, size) // at most the size of the file
		if _, err := f.r.ReadAt(b, begins[i]); err != nil && size > 0 {
			return nil, f.failure("read %q: %w", t.Names[0], err)
		}
		return tfbridge.NewTensorFromBytes(t.DType, t.Shape.Dims(), b)
	}
	return nil
}

// dtypeSize returns the bytes of an element of the types above.
func dtypeSize(dt dtype.DataType) int {
	switch dt {
	case dtype.Double, dtype.Int64:
		return 8
	case dtype.Float, dtype.Int32:
		return 4
	case dtype.Half, dtype.Bfloat16, dtype.Int16:
		return 2
	}
	return 1
}
