package engine

import (
	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/loaders/spec"
	"millrace/remote"
)

// Choice is a checked config with the facts that decide which engine runs its stages.
// Each decision is a method, which depends on the fields alone. A Choice is read-only
// and may be shared between goroutines.
type Choice struct {
	*spec.Spec

	// Own says that the library of Millrace's own dataset operations is there. They
	// read and decode the records of every such plan: none of TensorFlow's operations
	// sees the bytes of a file. [Choice.Native] decides whether they make whole
	// batches, too, or tf.data does the work between the files and the batches. Without
	// the library Go reads the files, and TensorFlow parses the records that Go has
	// found safe to parse.
	Own bool

	// Checked says that every record has passed the checks that the config asks for, before
	// the graph runs.
	Checked bool

	// Skips says that operations skip records that were found bad before, in a plan whose
	// other records are Checked.
	Skips bool

	Timed bool // TensorFlow measures the time of each dataset
}

// Counts reports whether the records of a file are counted before the first batch. Without
// Millrace's own operations Go reads the files, and counts files of stores, too,
// although it reads them whole for that where they have no index.
func Counts(c Choice, f spec.DataFile) bool {
	return !f.Remote || !c.Own && remote.Default.Reads(f.Path)
}

// NeedsFileSystems reports whether TensorFlow has to be told of the stores of this process,
// because some files have a scheme in their path.
func NeedsFileSystems(c Choice) bool { return c.HasURLs() }

// FilesInStores returns the URLs of the files that package remote reads.
func FilesInStores(c Choice) (urls []string) {
	for _, f := range c.Files {
		if remote.Default.Reads(f.Path) {
			urls = append(urls, f.Path)
		}
	}
	return urls
}

// RefuseRemote returns an error for a plan with remote files and without Millrace's own
// operations. TensorFlow's parsers would get the bytes of schemes that only it reads
// unchecked.
func (c Choice) RefuseRemote() error {
	if c.Own {
		return nil
	}
	for _, f := range c.Files {
		if !Counts(c, f) {
			e := millrace.Errorf(millrace.ErrRuntime, "a remote file is read by Millrace's own operations only, and their library is not built for this runtime; "+
				"build it (%s), or copy the file to a disk of this machine", oplibrary.Remedy)
			e.Loader, e.File = c.Path, spec.PrintablePath(f.Path)
			return e
		}
	}
	return nil
}
