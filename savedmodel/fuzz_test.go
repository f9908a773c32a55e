package savedmodel

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/modelfile"
)

// Reading any bytes ends, either without an error or with one that has a class.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"constant", "vocab", "graph_v1", "recursive", "writes_file_at_load", "loop"} {
		f.Add(readFile(f, filepath.Join(models, name, binaryName)))
	}
	small, err := proto.Marshal(graph([]*tfproto.NodeDef{called("y", "f", "x")}, wrapper("f", "Identity"), wrapper("g", "ReadFile")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	dir := f.TempDir()
	beside, err := modelfile.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(dir, &Options{MaxNodes: 10_000})
		r.folder, r.File = beside, filepath.Join(dir, binaryName)
		_, err := r.read(data)
		if err != nil && !errors.Is(err, millrace.ErrModel) && !errors.Is(err, millrace.ErrUnsafeModel) {
			t.Fatalf("error of no class: %v", err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"linear", "graph_v1"} {
		b.Run("model="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(filepath.Join(models, name), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			m := graph([]*tfproto.NodeDef{node("y", "Identity", fmt.Sprint("n", n-1))})
			g := m.MetaGraphs[0].GraphDef
			last := "x"
			for i := range n {
				name := fmt.Sprint("n", i)
				g.Node = append(g.Node, node(name, "Identity", last))
				last = name
			}
			dir := b.TempDir()
			writeModel(b, dir, m)
			b.SetBytes(int64(proto.Size(m)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(dir, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
