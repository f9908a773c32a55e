package run

import (
	"bytes"
	"fmt"

	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/tfbridge"
)

// profileName is the folder of timelines in RUN_DIR.
const profileName = "profile"

// profile collects the traces of steps.
type profile struct {
	wanted      *estimator.StepRange // nil: none
	first, last int64                // the first and the last traced step
	traces      tfbridge.RunMetadata // one after the other
}

// add adds the trace of a step.
func (p *profile) add(step int64, trace *tfbridge.RunMetadata) {
	if p.first == 0 {
		p.first = step
	}
	p.last = step
	p.traces.Devices = append(p.traces.Devices, trace.Devices...)
}

// trace writes the trace of a step to the event file, and keeps it for the timeline.
func (w *watch) trace(s *estimator.Step) error {
	if s.Trace == nil {
		return nil
	}
	w.profile.add(s.Step, s.Trace)
	file, err := w.events.open(&w.events.train, trainEvents)
	if err != nil {
		return err
	}
	if err := file.RunMetadata(s.Step, fmt.Sprintf("step %d", s.Step), s.Trace.Raw); err != nil {
		return err
	}
	return file.Flush()
}

// writeProfile writes the timeline of the steps that were traced, if any was to be.
func (w *watch) writeProfile() error {
	p := &w.profile
	if p.wanted == nil {
		return nil
	}
	if p.first == 0 {
		if w.hooks.Note != nil {
			w.hooks.Note(fmt.Sprintf("none of the steps %d to %d was made now: there is no profile", p.wanted.First, p.wanted.Last))
		}
		return nil
	}
	dir := w.run.folder.path(profileName)
	if err := Folder(dir).make(); err != nil {
		return err
	}
	var timeline bytes.Buffer
	merged := tfbridge.RunMetadata{Devices: byDevice(p.traces.Devices)}
	if err := merged.WriteTimeline(&timeline); err != nil {
		return err
	}
	return checkpoint.WriteFile(Folder(dir).path(fmt.Sprintf("steps-%d-%d.json", p.first, p.last)), timeline.Bytes())
}

// byDevice joins traces of the same device, so that a timeline has one process for it.
func byDevice(traces []tfbridge.DeviceTrace) []tfbridge.DeviceTrace {
	var all []tfbridge.DeviceTrace
	index := map[string]int{}
	for _, t := range traces {
		i, ok := index[t.Device]
		if !ok {
			i = len(all)
			index[t.Device] = i
			all = append(all, tfbridge.DeviceTrace{Device: t.Device})
		}
		all[i].Nodes = append(all[i].Nodes, t.Nodes...)
	}
	return all
}
