//go:build !unix

package tfrecord

import "io/fs"

// inode returns 0: there are none here.
func inode(fs.FileInfo) uint64 { return 0 }
