package writer

import "millrace/remote"

// place is where a dataset is written: a [partFolder], or [objects] of a store.
type place interface {
	// shards returns the folder of the shards.
	shards() string

	// resume returns the complete shards that an earlier Writer with the same text left, and
	// removes all other files of Writers.
	resume(text string) (progress, error)

	// save writes the list of the complete shards.
	save(*progress) error

	// publish adds the last files and makes the dataset visible.
	publish(files map[string][]byte) error

	// remove removes what was written.
	remove()

	// Close releases the lock, if there is one.
	Close() error
}

// openPlace returns the place where the dataset of a folder is written. The folder must be
// empty or not exist.
func openPlace(dataset string) (place, error) {
	if remote.IsURL(dataset) {
		return openObjects(dataset)
	}
	if err := mustBeEmpty(dataset); err != nil {
		return nil, err
	}
	p, err := openPart(dataset)
	if err != nil {
		return nil, err
	}
	return p, nil
}
