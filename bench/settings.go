package main

import (
	"errors"
	"time"
)

// settings are the values of the flags.
type settings struct {
	dir      string // everything that is made goes here
	millrace string // the program; "" = built from this tree
	python   string // an interpreter with TensorFlow; "" = a virtual environment
	records  int
	rounds   int
	passes   int
	tableMB  int // size of the tables to convert
	strict   bool
	only     string // "" = everything
	setting  string // only settings of the sweep with this text in their names
	overload time.Duration
}

// validate returns an error for a number that is not positive.
func (s settings) validate() error {
	if s.records < 1 || s.rounds < 1 || s.passes < 1 || s.tableMB < 1 {
		return errors.New("-records, -rounds, -passes and -table-mb must be at least 1")
	}
	return nil
}
