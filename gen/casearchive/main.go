// Casearchive packs the cases of the config format into the archive that
// package internal/test/cases reads. The same files always give the same bytes.
//
//	go run ./gen/casearchive -from DIR[:DIR] -out testdata/cases.tar.gz
package main

import (
	"archive/tar"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace/internal/base/atomicfile"
)

func main() {
	from := flag.String("from", "", "folders whose subfolders are the cases, as in PATH")
	out := flag.String("out", "testdata/cases.tar.gz", "archive to write")
	flag.Parse()
	if *from == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*out, filepath.SplitList(*from)...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write packs the files of some folders into an archive. After a failure, the previous archive
// is unchanged.
func write(name string, dirs ...string) error {
	f, err := atomicfile.Create(name, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	trees := make([]fs.FS, len(dirs))
	for i, dir := range dirs {
		trees[i] = os.DirFS(dir)
	}
	if err := pack(f, trees...); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return f.Commit()
}

// pack writes the regular files of some trees, of each in the order of their
// paths. Times, owners and permissions are left out: they differ from machine to
// machine.
func pack(w io.Writer, trees ...fs.FS) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zip)
	for _, tree := range trees {
		if err := addTree(archive, tree); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// addTree writes the files of one tree.
func addTree(archive *tar.Writer, tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		return add(archive, tree, name)
	})
}

// add writes one file.
func add(archive *tar.Writer, tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX}
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err = archive.Write(text)
	return err
}
