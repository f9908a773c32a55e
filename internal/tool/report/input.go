package report

import (
	"fmt"
	"time"

	"millrace/estimator/run"
	"millrace/internal/base/figures"
)

// inputOf is the input pipeline of a run.
type inputOf struct {
	Run     string
	Batches int64 // number of batches for which the stages were timed; 0: they were not timed
	Stages  []stage
}

// stage is a box in the picture of an input pipeline.
type stage struct {
	Name, What string
	Share      float64 // share of the time of all stages, from 0 to 1; 0 if they were not timed
	Details    []string
}

// stages returns the datasets that were timed, or the stages of the plan.
func stages(in *run.Input) []stage {
	var all []stage
	if len(in.Times) == 0 {
		for _, s := range in.Stages {
			all = append(all, stage{Name: s.Name, What: s.What})
		}
		return all
	}
	sum := 0.0
	for _, t := range in.Times {
		sum += t.Seconds
	}
	for _, t := range in.Times {
		s := stage{Name: t.Name, What: figures.Of(t.Elements, "element")}
		if t.Datasets > 1 {
			s.Details = append(s.Details, fmt.Sprintf("%d of them", t.Datasets))
		}
		if t.Elements > 0 {
			each := time.Duration(t.Seconds / float64(t.Elements) * float64(time.Second))
			s.Details = append(s.Details, each.Round(10*time.Nanosecond).String()+" each")
		}
		if t.Buffered > 0 {
			s.Details = append(s.Details, figures.Count(t.Buffered)+" buffered")
		}
		if sum > 0 {
			s.Share = t.Seconds / sum
		}
		all = append(all, s)
	}
	return all
}
