package plan

import "millrace/loaders/spec"

// WindowPlace says where a window is: in some records of a file that follow each other,
// and where in them it begins and ends, in units of the window.
type WindowPlace struct {
	Record, Records int64
	Begin, End      int64 // from the begin of Record on
}

// examplesOf returns how many records a file has, or windows of those in the range.
// before is how many records are in the files before it.
func (p *Plan) examplesOf(scan *Scan, file int, before int64) int64 {
	if p.Window == nil {
		return scan.Count(file)
	}
	first, end := p.rangeIn(scan.Count(file), before)
	units := (end - first) * p.RecordUnits()
	w, step := p.Window, p.windowStep()
	windows := int64(0)
	if units >= w.Min {
		windows = (units-w.Min)/step + 1
	}
	if w.Tail == spec.TailPad && windows*step < units {
		windows++ // the last one is filled up
	}
	return windows
}

// WindowAt returns the file and the place of the window at a position.
func (o *Order) WindowAt(position int64) (file int, at WindowPlace) {
	file, window := o.At(position)
	p := o.plan
	first, behind := p.rangeIn(o.records[file+1]-o.records[file], o.records[file])
	each := p.RecordUnits()
	begin := window * p.windowStep()
	end := min(begin+p.Window.Min, (behind-first)*each)
	from, to := begin/each, (end+each-1)/each
	return file, WindowPlace{Record: first + from, Records: to - from, Begin: begin - from*each, End: end - from*each}
}

// rangeIn returns which records of a file of n are in the range, if there are so many
// records in the files before it.
func (p *Plan) rangeIn(n, before int64) (first, end int64) {
	first, end = min(max(p.Records.Start-before, 0), n), n
	if p.Records.End >= 0 {
		end = max(min(p.Records.End-before, n), first)
	}
	return first, end
}

// RecordUnits returns how many units of windows each record has, where windows are read
// by their place.
func (p *Plan) RecordUnits() int64 {
	if p.Window.Unit == spec.Records {
		return 1
	}
	return p.Features[0].TensorShape()[0]
}

// WindowRecords returns in how many records a window may be at most, where windows are
// read by their place.
func (p *Plan) WindowRecords() int64 {
	each := max(p.RecordUnits(), 1)
	return (p.Window.Min+each-1)/each + 1
}

// windowStep returns how many units after a window the next one begins.
func (p *Plan) windowStep() int64 {
	if p.Window.Stride > 0 {
		return p.Window.Stride
	}
	return p.Window.Min
}
