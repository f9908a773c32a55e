package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readAnew brings the records of a folder into the page cache as reading them from a
// disk does. The cache keeps a file in pieces: large ones if the file was read in
// order, and others if it was written in small steps or while memory was fragmented.
// Copying out of small pieces takes twice as long, so without this the result would
// depend on the machine's history.
func readAnew(folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.tfrecords"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := readFileAnew(path); err != nil {
			return fmt.Errorf("read %s anew: %w", path, err)
		}
	}
	return nil
}

func readFileAnew(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil { // only synced data can be dropped
		return err
	}
	if err := dropFromCache(file); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, file)
	return err
}
