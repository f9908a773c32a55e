package writer

import (
	"fmt"
	"path"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/remote"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// shardExt is the extension of data files.
const shardExt = ".tfrecords"

// Shard is a complete data file.
type Shard struct {
	Name    string `json:"name"` // name in the dataset's folder
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"` // size of the file
}

// progressName is the file that lists the whole shards.
const progressName = "progress.json"

// progress is the content of that file.
type progress struct {
	Resume string  `json:"resume"` // Options.Resume of the Writer
	Whole  []Shard `json:"shards"`
}

// Records returns the number of records in whole shards.
func (p *progress) Records() int64 {
	var n int64
	for _, s := range p.Whole {
		n += s.Records
	}
	return n
}

// shard is a data file that is being written.
type shard struct {
	path  string // path of the complete file
	file  *atomicfile.File
	disk  *behind          // writes to file
	out   *tfrecord.Writer // writes to disk
	bytes int64            // uncompressed size of its records
}

// shardName returns the name of the i-th shard.
func shardName(i int) string { return fmt.Sprintf("part-%05d%s", i, shardExt) }

// openShard begins the i-th shard in a folder.
func openShard(dir string, i int, c tfrecord.Compression) (*shard, error) {
	path := remote.Join(dir, shardName(i))
	file, err := atomicfile.Create(path, 0o666)
	if err != nil {
		return nil, ioError("create", path, err)
	}
	disk := newBehind(file)
	s := &shard{path: path, file: file, disk: disk, out: tfrecord.NewWriter(disk, c)}
	s.out.KeepIndex()
	return s, nil
}

// write adds a record.
func (s *shard) write(record []byte) error {
	if len(record) > tfrecord.MaxLayoutRecord {
		return millrace.Errorf(millrace.ErrLimit, "a record of %d bytes; no more than %d can be indexed", len(record), int64(tfrecord.MaxLayoutRecord))
	}
	if err := s.out.Write(record); err != nil {
		return ioError("write", s.path, err)
	}
	s.bytes += tfrecord.FrameBytes + int64(len(record))
	return nil
}

// finish completes the shard: it writes it to the disk, gives it its name, and writes
// its index.
func (s *shard) finish() (*Shard, error) {
	err := s.out.Close()
	if closed := s.disk.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.file.Commit()
	}
	if err != nil {
		s.discard()
		return nil, ioError("write", s.path, err)
	}
	x, err := s.out.Index(s.path)
	if err != nil {
		return nil, err
	}
	if _, err := index.Write(x, ""); err != nil {
		return nil, err
	}
	return &Shard{Name: path.Base(s.path), Records: x.Records, Bytes: x.Size}, nil
}

// discard removes the file.
func (s *shard) discard() {
	s.disk.Close()
	s.file.Close()
}
