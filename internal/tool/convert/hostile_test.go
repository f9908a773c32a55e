package convert

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/test/soak"
	"millrace/tfrecord"
)

// childEnv has the folder whose files a child process converts.
const childEnv = "MILLRACE_CONVERT_CHILD"

// childMemory is the address space of a child. A conversion that needs more ends the
// process: Go cannot recover from a lack of memory.
const childMemory = 5 << 30

// TestChild converts the files of a folder, one by one, and prints how each one ended.
// It is only a helper process.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("runs as a child of other tests")
	}
	limit := unix.Rlimit{Cur: childMemory, Max: childMemory}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fmt.Printf("begin %s\n", f.Name())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a watchdog
		_, err := Run(ctx, []string{filepath.Join(dir, f.Name())}, filepath.Join(t.TempDir(), "out"), &Options{Compression: tfrecord.GZIP})
		cancel()
		var e *millrace.Error
		switch {
		case errors.Is(err, millrace.ErrCanceled):
			t.Fatalf("%s: the conversion does not end", f.Name())
		case err != nil && (!errors.As(err, &e) || e.File == "" || e.Class == ""):
			t.Fatalf("%s: an error without a class or a file: %v", f.Name(), err)
		case err != nil:
			fmt.Printf("refused %s: %.300v\n", f.Name(), err)
		}
	}
	fmt.Println("done")
}

// convertInChild converts the files of a folder in a child process, and returns its
// output.
func convertInChild(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	said, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("\ndone\n")) {
		begun := bytes.LastIndex(said, []byte("begin "))
		t.Fatalf("the child ended: %v: %.3000s", err, said[max(begun, 0):])
	}
	return string(said)
}

// member is a file of an archive that repeats a piece.
type repeated struct {
	head  string
	piece []byte
	times int
}

// writeArchive writes an archive of arrays.
func writeArchive(t *testing.T, path string, members ...repeated) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for i, m := range members {
		w, err := z.Create(fmt.Sprintf("m%d.npy", i))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, m.head)
		for range m.times {
			w.Write(m.piece)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// sparse makes a file of a size that begins with a text.
func sparse(t *testing.T, path, text string, size int64) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// Files with huge claimed or expanded sizes are refused with little memory.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(path(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sparse(t, path("hole.csv"), "x\n", 1<<40)
	sparse(t, path("hole.ndjson"), "{\"x\":1}\n", 1<<40)
	sparse(t, path("hole.parquet"), "PAR1", 1<<40)
	sparse(t, path("hole.arrow"), "ARROW1", 1<<40)
	sparse(t, path("hole_stream.arrow"), "\xff\xff\xff\xff\xff\xff\xff\x7f", 1<<40)
	sparse(t, path("hole.npz"), "PK", 1<<40)
	sparse(t, path("hole.png"), "\x89PNG\r\n\x1a\n", 1<<40)
	sparse(t, path("hole.wav"), string(wav(wavInteger, 1, 16, nil))[:36], 1<<40)
	write("open_quote.csv", "x\n\""+strings.Repeat("a", maxLine+csvBytes))
	write("wide.csv", "x\n"+strings.Repeat(",", maxLine))
	write("wide_header.csv", strings.Repeat("a,", maxLine/2))
	write("line.ndjson", `{"x":[`+strings.Repeat("1,", maxLine)+"1]}")
	write("keys.ndjson", manyKeys(70_000))
	write("keys_over_rows.ndjson", manyRows(70_000))
	writeArchive(t, path("no_values.npz"), repeated{npy("<f4", "1099511627776, 0", ""), nil, 0})
	writeArchive(t, path("fortran.npz"), repeated{strings.Replace(npy("<i1", "1073741825, 2", ""), "False", "True ", 1), make([]byte, 1<<20), 2049})
	writeArchive(t, path("row.npz"), repeated{npy("|i1", "1, 268435457", ""), make([]byte, 1<<20), 257})
	writeArchive(t, path("elements.npz"), repeated{npy("|i1", "1, 134217728", ""), make([]byte, 1<<20), 128})
	arrowWithRows(t, path("rows.arrow"), 1<<40)
	chainOfFields(t, path("deep.arrow"), 100)
	streamThatClaims(t, path("claim.arrow"), 1<<30)
	said := convertInChild(t, dir)
	if !strings.Contains(said, "metadata length 1073741824 exceeds limit") {
		t.Error("a message of 1 GiB was read although the file has fewer bytes")
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(said, "refused "+f.Name()) {
			t.Errorf("%s was not refused", f.Name())
		}
	}
}

// manyKeys returns an object with n keys.
func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, "%q:1,", fmt.Sprint("k", i))
	}
	return strings.TrimSuffix(b.String(), ",") + "}\n"
}

// manyRows returns n objects with a key each.
func manyRows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{%q:1}\n", fmt.Sprint("k", i))
	}
	return b.String()
}

// arrowWithRows writes a batch of many rows without a value.
func arrowWithRows(t *testing.T, path string, rows int64) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.Null}}, nil)
	writeIPC(t, path, schema, array.NewRecordBatch(schema, []arrow.Array{array.NewNull(int(rows))}, rows))
}

// chainOfFields writes a schema of many levels.
func chainOfFields(t *testing.T, path string, levels int) {
	t.Helper()
	of := arrow.DataType(arrow.PrimitiveTypes.Int64)
	for range levels {
		of = arrow.StructOf(arrow.Field{Name: "x", Type: of})
	}
	writeIPC(t, path, arrow.NewSchema([]arrow.Field{{Name: "x", Type: of}}, nil))
}

// streamThatClaims writes a stream whose second message claims a length.
func streamThatClaims(t *testing.T, path string, claim uint32) {
	t.Helper()
	writeIPC(t, path, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The mark of the end has no length.
	binary.LittleEndian.PutUint32(whole[len(whole)-4:], claim)
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
}

func writeIPC(t *testing.T, path string, schema *arrow.Schema, batches ...arrow.RecordBatch) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := ipc.NewWriter(f, ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	for _, b := range batches {
		err = errors.Join(err, w.Write(b))
	}
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Damaged files of each format result in a dataset or in an error with a class and the
// file, whichever byte is changed.
func TestMutatedFiles(t *testing.T) {
	seeds := map[string]string{"a.npz": "testdata/arrays.npz"}
	for name, path := range writeArrow(t, threeRows) {
		seeds[name] = path
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "x,y\n1,\"a \"\"b\"\"\"\n0.5,\n", "a.ndjson": "{\"x\":[1,2.5],\"y\":\"\\u00e4\"}\n{\"x\":[],\"z\":true}\n",
		"a.wav": string(wav(wavInteger, 2, 16, []byte("01234567"))),
	} {
		seeds[name] = filepath.Join(dir, name)
		if err := os.WriteFile(seeds[name], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(soak.Rounds(1, int(time.Now().UnixNano()>>1)))))
	mutants := t.TempDir()
	for name, path := range seeds {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range soak.Rounds(150, 20_000) {
			if err := os.WriteFile(filepath.Join(mutants, fmt.Sprintf("%d-%s", i, name)), mutated(random, whole), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	convertInChild(t, mutants)
}

// mutated returns a copy with some bytes changed, lengths among them, or cut.
func mutated(random *rand.Rand, whole []byte) []byte {
	b := bytes.Clone(whole)
	for range 1 + random.IntN(4) {
		at := random.IntN(len(b))
		switch random.IntN(5) {
		case 0:
			b[at] ^= 1 << random.IntN(8)
		case 1:
			b[at] = byte(random.Uint32())
		case 2: // a large number
			copy(b[at:], "\xff\xff\xff\xff\xff\xff\xff\x7f"[random.IntN(7):])
		case 3: // one of several bytes
			copy(b[at:], []byte{0, 0, 0, 0, byte(random.Uint32())}[random.IntN(5):])
		default:
			if random.IntN(4) == 0 && at > 0 {
				b = b[:at]
			}
		}
	}
	return b
}
