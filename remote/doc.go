// Package remote reads objects of stores such as Amazon S3 and web servers wherever a
// path of a data file, list, manifest or index stands.
//
// A program registers the stores that it wants, as programs import the drivers of
// database/sql. It pays for no others:
//
//	store, err := s3.New(&s3.Options{Getenv: os.Getenv})
//	if err != nil {
//		return err
//	}
//	remote.Register("s3", store)
//	l, err := loaders.Open("s3://bucket/loader.json", nil)
//
// # How an object is read
//
// The question: TensorFlow's operations, our own and Go's readers ask for a few bytes, or
// for the next 256 KiB. A request to a store takes tens of milliseconds, and it may fail
// in its middle. So a file is cut into blocks of 256 KiB:
//
//	object  |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  | ...
//	request |  A  |     B     |           C           | ...
//
// A block that is missing is requested together with those that follow it. A reader that
// proceeds from one block to the next doubles the size of its requests, up to 8 MiB, and
// has the next request begin when half of the last one is read. A reader that jumps gets
// single blocks.
//
// Blocks of all files of the process share one limit, [Options].Memory. The least recently
// used ones make room for others. Where every block is being filled, a reader gets its bytes
// without one, so the limit never blocks it.
//
// A request that ends early continues at the byte that it reached. Requests that yield no
// byte are repeated after a pause that doubles, with jitter, and then fail with the URL,
// the offset and the number of attempts.
//
// Each object has a version: an ETag, a generation, or the time of its last change. A file
// remembers the version that it found first. All requests name it, so an object that is
// replaced while it is read is an error and never a mixture.
package remote
