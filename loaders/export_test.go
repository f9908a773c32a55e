package loaders

// SetChunk sets how many records are parsed at once.
func (l *Loader) SetChunk(records int64) { l.pipe.GroupSize = records }
