package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"millrace/loaders/spec"
)

// npyArray is the header of a NumPy array. An array is a header, padded with spaces,
// and the elements:
//
//	"\x93NUMPY" | version | length | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }
type npyArray struct {
	kind    byte // NumPy's dtype.kind: 'b', 'i', 'u', 'f', 'S', 'U', 'M', 'm'
	size    int  // size of an element in bytes
	order   binary.ByteOrder
	fortran bool // the first index changes fastest
	shape   []int64
	header  int64 // length of the header in bytes
}

// maxNPYHeader is the maximum length of a header. NumPy's limit is 10,000 bytes.
const maxNPYHeader = 1 << 16

// Patterns for the entries of the dictionary. NumPy writes its keys in one order, but
// accepts any.
var (
	npyDescr   = regexp.MustCompile(`'descr': *'([<>=|]?)([a-zA-Z])([0-9]*)(\[[^']*)?'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *(True|False)`)
	npyShape   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

// readNPYHeader reads the header of an array.
func readNPYHeader(r io.Reader) (*npyArray, error) {
	start := make([]byte, 8)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:6]) != "\x93NUMPY" {
		return nil, errors.New("it does not begin as a NumPy array does")
	}
	length := make([]byte, 4)
	if start[6] == 1 {
		length = length[:2]
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, err
	}
	var whole [4]byte
	copy(whole[:], length)
	n := binary.LittleEndian.Uint32(whole[:])
	if n > maxNPYHeader {
		return nil, fmt.Errorf("a header of %d bytes; no more than %d are read", n, maxNPYHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	a, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, err
	}
	a.header = int64(len(start) + len(length) + len(text))
	return a, nil
}

// parseNPYHeader reads the dictionary of a header.
func parseNPYHeader(text string) (*npyArray, error) {
	descr, fortran, shape := npyDescr.FindStringSubmatch(text), npyFortran.FindStringSubmatch(text), npyShape.FindStringSubmatch(text)
	if descr == nil && strings.Contains(text, "'descr': [") {
		return nil, errors.New("its elements are structures; save each field as an array of its own")
	}
	if descr == nil || fortran == nil || shape == nil {
		return nil, errors.New("its header has no descr, fortran_order and shape")
	}
	a := &npyArray{kind: descr[2][0], order: binary.LittleEndian, fortran: fortran[1] == "True"}
	if descr[1] == ">" {
		a.order = binary.BigEndian
	}
	if descr[3] != "" {
		size, err := strconv.ParseUint(descr[3], 10, 31)
		if err != nil {
			return nil, err
		}
		a.size = int(size)
	}
	if a.kind == 'U' { // counted in UTF-32
		if a.size > math.MaxInt32/4 {
			return nil, fmt.Errorf("texts of %d characters", a.size)
		}
		a.size *= 4
	}
	for _, d := range strings.FieldsFunc(shape[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return nil, err
		}
		a.shape = append(a.shape, n)
	}
	return a, a.checkSize()
}

// checkSize returns an error if the number of bytes cannot be computed with 64 bits.
func (a *npyArray) checkSize() error {
	n := max(int64(a.size), 1)
	for _, d := range a.shape {
		if d = max(d, 1); n > math.MaxInt64/d {
			return fmt.Errorf("the shape %v is too large", a.shape)
		}
		n *= d
	}
	return nil
}

// rowBytes returns the size of a row.
func (a *npyArray) rowBytes() int64 { return int64(a.size) * a.elements() }

// elements returns the number of elements of a row.
func (a *npyArray) elements() int64 {
	n := int64(1)
	for _, d := range a.shape[1:] {
		n *= d
	}
	return n
}

// column returns the column that the rows of an array become.
func (a *npyArray) column(name string) (Column, error) {
	bits := strconv.Itoa(8 * a.size)
	whole := a.size == 1 || a.size == 2 || a.size == 4 || a.size == 8
	c := Column{Name: name, Shape: append([]int64{}, a.shape[1:]...)}
	switch {
	case a.kind == 'b' && a.size == 1:
		c.Stored, c.DType = spec.Int, "bool"
	case a.kind == 'i' && whole:
		c.Stored, c.DType = spec.Int, "int"+bits
	case a.kind == 'u' && whole:
		c.Stored, c.DType = spec.Int, "uint"+bits
	case (a.kind == 'M' || a.kind == 'm') && a.size == 8:
		c.Stored, c.DType = spec.Int, "int64"
	case a.kind == 'f' && whole && a.size > 1:
		c.Stored, c.DType = spec.Float, "float32"
	case a.kind == 'S' || a.kind == 'U':
		c.Stored, c.DType = spec.String, "string"
	case a.kind == 'O':
		return c, errors.New("its elements are Python objects; give the array another dtype with astype before it is saved")
	default:
		return c, fmt.Errorf("elements of dtype %c%d have no place in a record; give the array another dtype with astype before it is saved", a.kind, a.size)
	}
	return c, nil
}
