package modeltest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace"
)

// WriteFile writes a file and makes its folder.
func WriteFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ReadFile reads a file.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// WantError checks that an error has a class, or any class if it is "", and contains a
// text.
func WantError(t testing.TB, err error, class millrace.Class, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one of class %q", class)
	}
	var e *millrace.Error
	if !errors.As(err, &e) || class != "" && !errors.Is(err, class) {
		t.Errorf("error %v\n is not of class %q", err, class)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q\ndoes not say %q", err, part)
		}
	}
}

// Flips calls try with every step-th bit of a file flipped, one at a time.
func Flips(t testing.TB, name string, step int, try func(bit int)) {
	t.Helper()
	whole := ReadFile(t, name)
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for bit := 0; bit < 8*len(whole); bit += step {
		at := int64(bit / 8)
		if _, err := f.WriteAt([]byte{whole[at] ^ 1<<(bit%8)}, at); err != nil {
			t.Fatal(err)
		}
		try(bit)
		if _, err := f.WriteAt(whole[at:at+1], at); err != nil {
			t.Fatal(err)
		}
	}
}

// Marshal returns a message's bytes.
func Marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Reversed returns the bytes of a message of the type of m with its singular fields and
// map entries in reverse order, before the elements of lists. The message is
// equivalent.
func Reversed(b []byte, m proto.Message) []byte {
	return reversed(b, m.ProtoReflect().Descriptor())
}

func reversed(b []byte, d protoreflect.MessageDescriptor) []byte {
	var lists, rest []byte
	for len(b) > 0 {
		num, wire, tag := protowire.ConsumeTag(b)
		n := protowire.ConsumeFieldValue(num, wire, b[tag:])
		field, value := b[:tag+n], b[tag:tag+n]
		b = b[tag+n:]
		f := d.Fields().ByNumber(num)
		if f != nil && f.Message() != nil {
			inner, _ := protowire.ConsumeBytes(value)
			field = protowire.AppendBytes(protowire.AppendTag(nil, num, wire), reversed(inner, f.Message()))
		}
		if f != nil && (!f.IsList() || f.IsMap()) {
			rest = append(append([]byte(nil), field...), rest...)
		} else {
			lists = append(lists, field...)
		}
	}
	return append(rest, lists...)
}
