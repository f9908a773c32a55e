package output

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/terminal"
)

// npz writes a zip archive with one .npy array per column, uncompressed, as numpy.savez
// does. An array's header holds its length, and the arrays follow each other in the
// archive. So each column goes to a nameless temporary file first: the disk needs space
// for two copies of the output, but memory for none.
type npz struct {
	w    *sink
	cols []*npyColumn
}

func newNPZ(w *sink) encoder { return &npz{w: w} }

func (n *npz) start(cols []dtype.TensorSpec) error {
	for _, spec := range cols {
		if !memberName(spec.Name) {
			e := millrace.Errorf(millrace.ErrConfig, "an archive with a member of this name could be unpacked elsewhere than it should; rename the tensor, or write NDJSON, TFRecord or Parquet")
			e.Tensor = spec.Name
			return e
		}
	}
	for _, spec := range cols {
		row := spec.Shape.Dims()
		for i := range row {
			row[i] = max(row[i], 0) // only without rows a size is unknown
		}
		f, err := nameless(n.w.dir)
		if err != nil {
			return n.w.fail("create a temporary file", -1, err)
		}
		n.cols = append(n.cols, &npyColumn{spec: spec, row: row, file: f, buf: bufio.NewWriterSize(f, 64<<10)})
	}
	return nil
}

// memberName reports whether a tensor's name is valid as the name of a member. Programs
// that unpack archives treat it as a path, on some systems with backslashes or a drive
// letter.
func memberName(name string) bool {
	drive := len(name) > 1 && name[1] == ':'
	return filepath.IsLocal(name) && name == path.Clean(name) && !drive && !strings.Contains(name, `\`) && name == terminal.Line(name)
}

func (n *npz) write(batch []Column, rows int) error {
	for i, col := range n.cols {
		if !slices.Equal(batch[i].Shape[1:], col.row) {
			return batch[i].fail(millrace.ErrConfig, "has rows of shape %d after rows of shape %d, but all rows of a NumPy array have the same shape; write %s instead",
				batch[i].Shape[1:], col.row, "NDJSON, TFRecord or Parquet, or pad")
		}
		if err := col.add(&batch[i]); err != nil {
			return n.w.failed(err)
		}
		col.rows += int64(rows)
	}
	return nil
}

func (n *npz) finish() error {
	defer n.discard()
	z := zip.NewWriter(n.w)
	for _, col := range n.cols {
		w, err := z.CreateHeader(&zip.FileHeader{Name: col.spec.Name + ".npy", Method: zip.Store})
		if err == nil {
			err = col.copyTo(w)
		}
		if err != nil {
			return n.w.failed(err)
		}
	}
	if err := z.Close(); err != nil {
		return n.w.failed(err)
	}
	return nil
}

func (n *npz) discard() {
	for _, col := range n.cols {
		col.file.Close() // the file has no name, so closing it frees its blocks
	}
}

// nameless opens a file in dir that has no name. The kernel frees it when the
// process ends, even if the process is killed.
func nameless(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), dir), nil
	}
	f, err := os.CreateTemp(dir, ".millrace-column-*") // a file system without O_TMPFILE
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// npyColumn collects one column.
type npyColumn struct {
	spec    dtype.TensorSpec
	row     []int64 // dimensions of one row
	file    *os.File
	buf     *bufio.Writer
	rows    int64
	longest int64 // longest string, in bytes
	bytes   int64 // size of all strings
	scratch []byte
}

// npyTypes are NumPy's names of element types. NumPy has no bfloat16, so it is written
// as float32, which represents all its values.
var npyTypes = map[dtype.DataType]string{
	dtype.Bool: "|b1", dtype.Int8: "|i1", dtype.Int16: "<i2", dtype.Int32: "<i4", dtype.Int64: "<i8",
	dtype.Uint8: "|u1", dtype.Uint16: "<u2", dtype.Uint32: "<u4", dtype.Uint64: "<u8",
	dtype.Half: "<f2", dtype.Bfloat16: "<f4", dtype.Float: "<f4", dtype.Double: "<f8",
	dtype.Complex64: "<c8", dtype.Complex128: "<c16",
}

// add appends the rows of one batch to the column's file.
func (c *npyColumn) add(col *Column) error {
	switch col.DType {
	case dtype.String:
		return c.addStrings(col)
	case dtype.Bfloat16:
		c.scratch = widen(c.scratch[:0], col.Data)
		_, err := c.buf.Write(c.scratch)
		return err
	}
	_, err := c.buf.Write(col.Data)
	return err
}

// widen appends bfloat16 elements as float32.
func widen(b, data []byte) []byte {
	for at := 0; at < len(data); at += 2 {
		b = append(b, 0, 0, data[at], data[at+1])
	}
	return b
}

// addStrings appends strings, each after its length. The width of the array's
// elements is only known at the end.
func (c *npyColumn) addStrings(col *Column) error {
	for _, s := range col.Strings {
		if strings.HasSuffix(s, "\x00") {
			return col.fail(millrace.ErrConfig, "the string %s ends in a NUL byte, which a NumPy array does not keep; write NDJSON, TFRecord or Parquet instead",
				millrace.QuoteData([]byte(s)))
		}
		c.longest = max(c.longest, int64(len(s)))
		c.bytes += int64(len(s))
		c.scratch = binary.AppendUvarint(c.scratch[:0], uint64(len(s)))
		if _, err := c.buf.Write(c.scratch); err != nil {
			return err
		}
		if _, err := c.buf.WriteString(s); err != nil {
			return err
		}
	}
	return nil
}

// copyTo writes the array: header, then elements.
func (c *npyColumn) copyTo(w io.Writer) error {
	if err := c.buf.Flush(); err != nil {
		return err
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	descr := npyTypes[c.spec.DType]
	if c.spec.DType == dtype.String {
		if err := c.checkPadded(); err != nil {
			return err
		}
		descr = fmt.Sprintf("|S%d", max(c.longest, 1))
	}
	if _, err := w.Write(npyHeader(descr, append([]int64{c.rows}, c.row...))); err != nil {
		return err
	}
	if c.spec.DType == dtype.String {
		return c.copyStrings(w)
	}
	_, err := io.Copy(w, c.file)
	return err
}

// All strings of a NumPy array take as much space as the longest. We refuse an
// array that needs more than maxPadding bytes of padding and more than
// maxPadFactor times the size of the strings.
const (
	maxPadding   = 1 << 30
	maxPadFactor = 64
)

// checkPadded refuses strings whose lengths differ too much for a NumPy array.
func (c *npyColumn) checkPadded() error {
	n := c.rows * elements(c.row)
	if n == 0 || c.longest == 0 {
		return nil
	}
	if n <= math.MaxInt64/c.longest {
		padded := n * c.longest
		if padded-c.bytes <= maxPadding || padded/maxPadFactor <= c.bytes {
			return nil
		}
	}
	err := millrace.Errorf(millrace.ErrLimit, "%d strings of up to %d bytes hold %d bytes in all: a NumPy array pads each to the longest; write NDJSON, TFRecord or Parquet instead",
		n, c.longest, c.bytes)
	err.Tensor = c.spec.Name
	return err
}

// copyStrings writes the strings, each padded with NULs to the length of the
// longest.
func (c *npyColumn) copyStrings(w io.Writer) error {
	r := bufio.NewReaderSize(c.file, 64<<10)
	out := bufio.NewWriterSize(w, 64<<10)
	fill := make([]byte, max(c.longest, 1))
	for range c.rows * elements(c.row) {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(out, r, int64(n)); err != nil {
			return err
		}
		if _, err := out.Write(fill[n:]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// npyHeader returns the header of an array in version 1.0 of the format, or in
// version 2.0 if the description is too long for 1.0.
func npyHeader(descr string, shape []int64) []byte {
	var dims strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&dims, "%d,", d)
		if len(shape) > 1 {
			dims.WriteByte(' ')
		}
	}
	list := strings.TrimSpace(dims.String())
	if len(shape) > 1 {
		list = strings.TrimSuffix(list, ",")
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, list)
	magic, size := "\x93NUMPY\x01\x00", 2
	if len(dict)+1+64 > math.MaxUint16 {
		magic, size = "\x93NUMPY\x02\x00", 4
	}
	// The elements start at a multiple of 64 bytes.
	used := len(magic) + size + len(dict) + 1
	dict += strings.Repeat(" ", (64-used%64)%64) + "\n"
	h := []byte(magic)
	if size == 2 {
		h = binary.LittleEndian.AppendUint16(h, uint16(len(dict)))
	} else {
		h = binary.LittleEndian.AppendUint32(h, uint32(len(dict)))
	}
	return append(h, dict...)
}
