package spec

import "millrace/loaders/decl"

// PlateauConfig lowers the learning rate when a metric no longer improves.
type PlateauConfig struct {
	decl.Object
	Metric   string  `json:"metric" decl:"required,nonempty" doc:"loss, or the name of a metric of evaluate."`
	Mode     string  `json:"mode" decl:"default=auto,enum=max|min|auto" doc:"Whether more or less is better; auto as in checkpoints.best."`
	Factor   float64 `json:"factor" decl:"default=0.1,above=0,below=1" doc:"What the learning rate is multiplied by."`
	Patience int64   `json:"patience" decl:"default=10,min=1" doc:"After this many evaluations in a row that are no better than the best one."`
	MinDelta float64 `json:"min_delta" decl:"default=0.0001,min=0" doc:"By how much an evaluation must be better to count as better."`
	Cooldown int64   `json:"cooldown" decl:"default=0,min=0" doc:"Evaluations after a reduction that are not counted."`
	MinLR    float64 `json:"min_lr" decl:"default=0,min=0" doc:"The smallest learning rate."`
}
