package opeffect

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
)

//go:embed testdata/calls.txt
var callsText string

// call is one call of the table: an operation, attributes and inputs, in its format.
type call struct {
	op    string
	attrs []string // NAME=VALUE
	args  []string
}

// String returns the call in the table's format.
func (c call) String() string {
	return strings.Join(slices.Concat([]string{c.op}, c.attrs, []string{"|"}, c.args), " ")
}

// let is a call that makes a handle, and one that fills it.
type let struct {
	call
	then *call
}

// book is the table: calls, and the handles that they may use.
type book struct {
	lets  map[string]let
	calls []call
	odd   []call            // calls that mix up what handles refer to
	ends  []call            // calls that ended the process before a rule was there
	none  map[string]string // operations without a call, and why
}

// all returns all calls, in the order of their indices.
func (b *book) all() []call { return slices.Concat(b.calls, b.ends, b.odd) }

// parseCalls reads the table.
func parseCalls(text string) (*book, error) {
	b := &book{lets: map[string]let{}, none: map[string]string{}}
	defines := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "# ")
		fields := strings.Fields(line)
		if len(fields) == 0 || line[0] == '#' {
			continue
		}
		if fields[0] == "none" {
			names, why, _ := strings.Cut(line, " : ")
			for _, name := range strings.Fields(names)[1:] {
				b.none[name] = strings.TrimSpace(why)
			}
			continue
		}
		if fields[0] == "define" {
			defines[fields[1]] = strings.Join(fields[2:], " ")
			continue
		}
		for name, v := range defines {
			line = strings.ReplaceAll(line, name, v)
		}
		fields = strings.Fields(line)
		if fields[0] == "let" {
			make, then, filled := strings.Cut(strings.Join(fields[3:], " "), ";")
			l := let{call: parseCall(strings.Fields(make))[0]}
			if filled {
				l.then = &parseCall(strings.Fields(then))[0]
			}
			b.lets[fields[1]] = l
			continue
		}
		if fields[0] == "odd" {
			b.odd = append(b.odd, parseCall(fields[1:])...)
			continue
		}
		if fields[0] == "ends" {
			b.ends = append(b.ends, parseCall(fields[1:])...)
			continue
		}
		b.calls = append(b.calls, parseCall(fields)...)
	}
	if len(b.calls) == 0 {
		return nil, fmt.Errorf("no calls")
	}
	return b, nil
}

// parseCall reads the calls of one line. A filling call has no bar before its inputs.
func parseCall(fields []string) (all []call) {
	var c call
	var names []string
	inputs := false
	for _, f := range fields {
		switch {
		case f == "|":
			inputs = true
		case inputs || f[0] == '@':
			c.args, inputs = append(c.args, f), true
		case strings.Contains(f, "="):
			c.attrs = append(c.attrs, f)
		default:
			names = append(names, f)
		}
	}
	for _, name := range names {
		all = append(all, call{name, c.attrs, c.args})
	}
	return all
}

// letters are the dtypes of the table.
var letters = map[string]tfproto.DataType{
	"f": f32, "d": tfproto.DataType_DT_DOUBLE, "h": tfproto.DataType_DT_HALF, "g": tfproto.DataType_DT_BFLOAT16, "t": tfproto.DataType_DT_INT8,
	"u": tfproto.DataType_DT_UINT8, "w": tfproto.DataType_DT_INT16, "W": tfproto.DataType_DT_UINT16, "i": i32, "U": tfproto.DataType_DT_UINT32,
	"l": i64, "V": tfproto.DataType_DT_UINT64, "b": boolean, "s": str, "c": tfproto.DataType_DT_COMPLEX64, "C": tfproto.DataType_DT_COMPLEX128,
	"q": tfproto.DataType_DT_QINT8, "Q": tfproto.DataType_DT_QUINT8, "z": tfproto.DataType_DT_QINT32, "y": tfproto.DataType_DT_QINT16,
	"Y": tfproto.DataType_DT_QUINT16, "v": variant, "r": resource,
}

var argForm = regexp.MustCompile(`^(!?)([fdhgtuwWiUlVbscCqQzyY])(?:\[([0-9,]*)\])?(?:=(.*))?$`)

// argument is a tensor of the table.
type argument struct {
	letter   string
	shape    []int64
	texts    []string // elements, repeated as often as needed; nil for small numbers
	constant bool     // its value is known before the run
}

// String returns the tensor in the table's format.
func (a argument) String() string {
	s := a.letter
	if a.constant {
		s = "!" + s
	}
	if len(a.shape) > 0 {
		s += strings.ReplaceAll(fmt.Sprint(a.shape), " ", ",")
	}
	if a.texts != nil {
		s += "=" + strings.Join(a.texts, ",")
	}
	return s
}

// parseArgument reads a tensor. ok is false for a handle.
func parseArgument(text string) (a argument, ok bool) {
	m := argForm.FindStringSubmatch(text)
	if m == nil {
		return argument{}, false
	}
	a.constant, a.letter, a.shape = m[1] != "", m[2], numbersOf(m[3])
	if strings.Contains(text, "=") {
		a.texts = strings.Split(m[4], ",")
	}
	return a, true
}

// size returns the number of elements.
func (a argument) size() int64 {
	n := int64(1)
	for _, d := range a.shape {
		n *= d
	}
	return n
}

// text returns an element. Integers count 0, 1, 0, 1 by default, so that they may be
// indices; floating-point numbers are positive.
func (a argument) text(i int64) string {
	if len(a.texts) > 0 {
		return a.texts[i%int64(len(a.texts))]
	}
	switch dt := letters[a.letter]; {
	case dt == str:
		return string(rune('a' + i%3))
	case isFloat(dt):
		return fmt.Sprint(float64(i%5+1) / 4)
	}
	return fmt.Sprint(i % 2)
}

func isFloat(dt tfproto.DataType) bool {
	return slices.Contains([]tfproto.DataType{f32, tfproto.DataType_DT_DOUBLE, tfproto.DataType_DT_HALF, tfproto.DataType_DT_BFLOAT16,
		tfproto.DataType_DT_COMPLEX64, tfproto.DataType_DT_COMPLEX128}, dt)
}

// tensor makes the tensor.
func (a argument) tensor() *tfproto.TensorProto {
	dt := letters[a.letter]
	t := &tfproto.TensorProto{Dtype: dt, TensorShape: shapeProto(a.shape)}
	n := a.size()
	if n > 1<<22 {
		n = 0 // TensorFlow refuses the constant
	}
	for i := range n {
		if text := a.text(i); dt == str {
			s, _ := url.QueryUnescape(text)
			t.StringVal = append(t.StringVal, []byte(s))
		} else {
			t.TensorContent = appendElement(t.TensorContent, dt, text)
		}
	}
	return t
}

// appendElement appends a number in TensorFlow's form.
func appendElement(b []byte, dt tfproto.DataType, text string) []byte {
	f, _ := strconv.ParseFloat(text, 64)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = int64(f)
	}
	if text == "true" {
		n = 1
	}
	le := binary.LittleEndian
	switch dt {
	case f32:
		return le.AppendUint32(b, math.Float32bits(float32(f)))
	case tfproto.DataType_DT_DOUBLE:
		return le.AppendUint64(b, math.Float64bits(f))
	case tfproto.DataType_DT_BFLOAT16:
		return le.AppendUint16(b, uint16(math.Float32bits(float32(f))>>16))
	case tfproto.DataType_DT_HALF:
		return le.AppendUint16(b, halfBits(float32(f)))
	case tfproto.DataType_DT_COMPLEX64:
		return le.AppendUint32(le.AppendUint32(b, math.Float32bits(float32(f))), math.Float32bits(1))
	case tfproto.DataType_DT_COMPLEX128:
		return le.AppendUint64(le.AppendUint64(b, math.Float64bits(f)), math.Float64bits(1))
	case boolean:
		return append(b, byte(n&1))
	case i32, tfproto.DataType_DT_UINT32, tfproto.DataType_DT_QINT32:
		return le.AppendUint32(b, uint32(n))
	case i64, tfproto.DataType_DT_UINT64:
		return le.AppendUint64(b, uint64(n))
	case tfproto.DataType_DT_INT16, tfproto.DataType_DT_UINT16, tfproto.DataType_DT_QINT16, tfproto.DataType_DT_QUINT16:
		return le.AppendUint16(b, uint16(n))
	}
	return append(b, byte(n))
}

// halfBits converts a number to 16 bits. What is too small becomes 0, what is too large
// infinite.
func halfBits(f float32) uint16 {
	bits := math.Float32bits(f)
	sign, exponent, fraction := uint16(bits>>16)&0x8000, int(bits>>23&0xff)-112, uint16(bits>>13&0x3ff)
	switch {
	case f != f:
		return sign | 0x7e00
	case exponent >= 31:
		return sign | 0x7c00
	case exponent <= 0:
		return sign
	}
	return sign | uint16(exponent)<<10 | fraction
}

// parsedCalls returns the calls of the table.
func parsedCalls(t *testing.T) *book {
	t.Helper()
	b, err := parseCalls(callsText)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
