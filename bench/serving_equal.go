package main

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Servers with 256 connections answer as fast as they can, but with different
// latencies: Python's p99 is then many times ours. The throughput at equal latency is
// the highest rate of requests, arriving at random, whose p99 is within a limit.
const (
	servingLimit      = 20 * time.Millisecond
	servingSearches   = 5 // halves of the interval between 0 and the saturation
	servingSearchWarm = 500 * time.Millisecond
	servingSearchTime = 2 * time.Second
)

// within returns the load with the highest rate below most whose p99 is within the
// limit, found by halving. A rate counts as too high if its p99 exceeds the limit
// twice. If no rate is within the limit the result has rate 0.
func (s *serving) within(ctx context.Context, at *server, most float64) (served, error) {
	var best served
	low, high := 0.0, most
	for range servingSearches {
		rate := (low + high) / 2
		got, err := s.load(ctx, at, servingLoad{rate: rate, warm: servingSearchWarm, duration: servingSearchTime})
		if err == nil && got.P99S > servingLimit.Seconds() { // perhaps another process was running
			got, err = s.load(ctx, at, servingLoad{rate: rate, warm: servingSearchWarm, duration: servingSearchTime})
		}
		if err != nil {
			return served{}, err
		}
		if got.P99S <= servingLimit.Seconds() {
			low, best = rate, got
		} else {
			high = rate
		}
	}
	return best, nil
}

// usual returns the load with the median p99 of several loads at one rate: other work
// of the machine for a tenth of a second decides the p99 of a single load.
func (s *serving) usual(ctx context.Context, at *server, rate float64) (served, error) {
	var all []served
	for range servingLatencyRuns {
		got, err := s.load(ctx, at, servingLoad{rate: rate, warm: servingSearchWarm, duration: servingLatencyTime})
		if err != nil {
			return served{}, err
		}
		all = append(all, got)
	}
	slices.SortFunc(all, func(a, b served) int { return cmp.Compare(a.P99S, b.P99S) })
	return all[len(all)/2], nil
}
